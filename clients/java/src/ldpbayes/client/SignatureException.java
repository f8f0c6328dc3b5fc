package ldpbayes.client;

import ldpbayes.LdpException;
import ldpbayes.Reason;

/** The plan was not signed with the expected key; nothing was drawn. */
public final class SignatureException extends LdpException {
    private static final long serialVersionUID = 1L;

    SignatureException(String why) {
        super(why, Reason.BAD_SIGNATURE);
    }
}
