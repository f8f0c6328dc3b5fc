package ldpbayes.client;

import ldpbayes.LdpException;
import ldpbayes.Reason;

/** The collector has closed the survey; nothing was drawn. */
public final class ExpiredException extends LdpException {
    private static final long serialVersionUID = 1L;

    ExpiredException(String why) {
        super(why, Reason.SURVEY_CLOSED);
    }
}
