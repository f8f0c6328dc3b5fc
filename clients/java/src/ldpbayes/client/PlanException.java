package ldpbayes.client;

import ldpbayes.LdpException;
import ldpbayes.Reason;

/** The plan is not the one that this journal or the application is bound to; nothing was drawn. */
public final class PlanException extends LdpException {
    private static final long serialVersionUID = 1L;

    /**
     * Describes the error.
     *
     * @param why what is wrong
     */
    public PlanException(String why) {
        this(why, Reason.PLAN_CHANGED);
    }

    PlanException(String why, String reason) {
        super(why, reason);
    }
}
