package ldpbayes.client;

import ldpbayes.LdpException;
import ldpbayes.Reason;

/** The client was closed; nothing was drawn. */
public final class ClosedException extends LdpException {
    private static final long serialVersionUID = 1L;

    ClosedException(String why) {
        super(why, Reason.CLIENT_CLOSED);
    }
}
