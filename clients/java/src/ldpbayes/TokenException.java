package ldpbayes;

/** A token that does not belong to the survey; thrown before anything is drawn. */
public final class TokenException extends LdpException {
    private static final long serialVersionUID = 1L;

    /**
     * Describes what is wrong.
     *
     * @param why what is wrong, without the token
     */
    public TokenException(String why) {
        super(why, Reason.INVALID_TOKEN, "token");
    }
}
