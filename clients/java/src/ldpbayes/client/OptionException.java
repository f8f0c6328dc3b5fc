package ldpbayes.client;

import ldpbayes.LdpException;

/** An option of a client cannot be used: a mistake of the application. */
public final class OptionException extends LdpException {
    private static final long serialVersionUID = 1L;

    /**
     * Describes the mistake.
     *
     * @param why what is wrong
     * @param reason a word of {@link ldpbayes.Reason}
     */
    public OptionException(String why, String reason) {
        super(why, reason);
    }
}
