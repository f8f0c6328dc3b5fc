package ldpbayes;

/**
 * Words that say why a call was refused, or why a report waits; they are stable across versions.
 *
 * <p>They are the same words as in the responses of collectors; docs/embedding.md explains them.
 */
public final class Reason {
    /** The person has not agreed to this survey, or withdrew before answering. */
    public static final String NO_CONSENT = "no-consent";
    /** The device forbids that anything is sent. */
    public static final String DO_NOT_TRACK = "do-not-track";
    /** The collector did not respond, or something else responded. */
    public static final String COLLECTOR_UNREACHABLE = "collector-unreachable";
    /** The collector responded that the survey is closed, and will be asked again. */
    public static final String CLOSED_ONCE = "closed-once";
    /** No attempt to send the report has finished yet. */
    public static final String NO_ANSWER_YET = "no-answer-yet";
    /** The client was closed. */
    public static final String CLIENT_CLOSED = "client-closed";
    /** The row or label does not fit the survey. */
    public static final String INVALID_ROW = "invalid-row";
    /** The invitation does not fit the survey. */
    public static final String INVALID_TOKEN = "invalid-token";
    /** The journal cannot be read or written. */
    public static final String JOURNAL_UNAVAILABLE = "journal-unavailable";
    /** The journal was damaged. */
    public static final String JOURNAL_DAMAGED = "journal-damaged";
    /** Too many reports are waiting. */
    public static final String QUEUE_FULL = "queue-full";
    /** An unexpected error, of this client or of the collector. */
    public static final String INTERNAL_ERROR = "internal-error";
    /** The plan's epsilon is greater than the application allows. */
    public static final String EPSILON_ABOVE_CAP = "epsilon-above-cap";
    /** The surveys of the journal would spend more in total than the application allows. */
    public static final String TOTAL_EPSILON_SPENT = "total-epsilon-spent";
    /** The plan is not the pinned one. */
    public static final String PLAN_CHANGED = "plan-changed";
    /** The plan is not signed, or not with the author's key. */
    public static final String BAD_SIGNATURE = "bad-signature";
    /** The plan is malformed, or would spend more than its epsilon. */
    public static final String INVALID_PLAN = "invalid-plan";
    /** The source of random bytes does not work. */
    public static final String NO_RANDOMNESS = "no-randomness";
    /** The survey is answered through a relay, and the option relay is missing, or X25519 on this device. */
    public static final String RELAY_UNSUPPORTED = "relay-unsupported";
    /** The collector cannot read the report. */
    public static final String MALFORMED = "malformed";
    /** The request is too long for the collector. */
    public static final String TOO_LARGE = "too-large";
    /** The plan has no such question. */
    public static final String UNKNOWN_QUESTION = "unknown-question";
    /** The report does not fit its question. */
    public static final String BAD_PAYLOAD = "bad-payload";
    /** The collector has counted another report with this id. */
    public static final String ID_REUSED = "id-reused";
    /** The survey is closed. */
    public static final String SURVEY_CLOSED = "survey-closed";
    /** The report was made with another plan. */
    public static final String WRONG_PLAN = "wrong-plan";
    /** The invitation was not issued for this survey. */
    public static final String NOT_ENROLLED = "not-enrolled";
    /** The request does not state its length. */
    public static final String LENGTH_REQUIRED = "length-required";
    /** The request ended too early. */
    public static final String INCOMPLETE_BODY = "incomplete-body";
    /** The request has the wrong type. */
    public static final String UNSUPPORTED_MEDIA_TYPE = "unsupported-media-type";
    /** The collector does not serve this survey. */
    public static final String UNKNOWN_SURVEY = "unknown-survey";
    /** The collector has no signature of the plan. */
    public static final String NO_SIGNATURE = "no-signature";
    /** The survey has no texts. */
    public static final String NO_TEXTS = "no-texts";
    /** The survey has not begun. */
    public static final String SURVEY_NOT_OPEN = "survey-not-open";
    /** The collector received too many requests. */
    public static final String TOO_MANY_REQUESTS = "too-many-requests";
    /** The collector takes one report per request. */
    public static final String TOO_MANY_REPORTS = "too-many-reports";
    /** The collector cannot store the report at present. */
    public static final String STORE_UNAVAILABLE = "store-unavailable";
    /** The collector requires a token. */
    public static final String NOT_AUTHORISED = "not-authorised";
    /** The collector does not have this page. */
    public static final String NO_SUCH_PAGE = "no-such-page";
    /** The survey takes reports only through its relay. */
    public static final String RELAY_REQUIRED = "relay-required";
    /** The relay did not respond, or something else responded. */
    public static final String RELAY_UNREACHABLE = "relay-unreachable";
    /** A relay could change the keys in the plan, because the application does not pin the plan. */
    public static final String RELAY_UNPINNED = "relay-unpinned";
    /** The plan has another relay than the application names, or the relay has another plan. */
    public static final String OTHER_PLAN = "other-plan";
    /** The relay cannot open the message. */
    public static final String BAD_SEAL = "bad-seal";
    /** The relay has passed the report on. */
    public static final String PASSED_ON = "passed-on";
    /** The relay takes no more messages from the device's network. */
    public static final String NETWORK_FULL = "network-full";
    /** The survey needs a code of its relay. */
    public static final String CODE_MISSING = "code-missing";
    /** The relay did not give this code. */
    public static final String CODE_UNKNOWN = "code-unknown";
    /** The code was used before. */
    public static final String CODE_USED = "code-used";
    /** The client rehearses, and sends nothing. */
    public static final String REHEARSAL = "rehearsal";
    /** The id of the person has the wrong form. */
    public static final String BAD_PERSON = "bad-person";
    /** The digest has the wrong form. */
    public static final String BAD_DIGEST = "bad-digest";
    /** An option of the application is invalid. */
    public static final String BAD_OPTION = "bad-option";
    /** Another mistake of the application. */
    public static final String ERROR = "error";

    private Reason() {
    }
}
