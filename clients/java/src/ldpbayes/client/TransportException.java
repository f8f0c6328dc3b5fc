package ldpbayes.client;

import ldpbayes.LdpException;

/** The collector cannot be reached, or does not send the survey's plan. */
public final class TransportException extends LdpException {
    private static final long serialVersionUID = 1L;

    TransportException(String why, String reason) {
        super(why, reason);
    }
}
