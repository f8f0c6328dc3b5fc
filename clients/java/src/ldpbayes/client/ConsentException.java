package ldpbayes.client;

import ldpbayes.LdpException;

/** The person has not agreed, or their device forbids reports; nothing was drawn. */
public final class ConsentException extends LdpException {
    private static final long serialVersionUID = 1L;

    /**
     * Describes the error.
     *
     * @param why what is wrong
     * @param reason a word of {@link ldpbayes.Reason}
     */
    public ConsentException(String why, String reason) {
        super(why, reason);
    }
}
