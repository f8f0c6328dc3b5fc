package ldpbayes.client;

import ldpbayes.LdpException;

/** The journal cannot be read or written; a report that could not be recorded was not sent either. */
public final class JournalException extends LdpException {
    private static final long serialVersionUID = 1L;

    /**
     * Describes the error.
     *
     * @param why what is wrong
     * @param reason a word of {@link ldpbayes.Reason}
     */
    public JournalException(String why, String reason) {
        super(why, reason);
    }
}
