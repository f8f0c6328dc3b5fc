package ldpbayes.client;

import ldpbayes.LdpException;

/** The plan spends more epsilon than this client allows; nothing was drawn. */
public final class BudgetException extends LdpException {
    private static final long serialVersionUID = 1L;

    /**
     * Describes the error.
     *
     * @param why what is wrong
     * @param reason a word of {@link ldpbayes.Reason}
     */
    public BudgetException(String why, String reason) {
        super(why, reason);
    }
}
