package ldpbayes.client.journal;

import ldpbayes.Reason;
import ldpbayes.client.ConsentException;
import ldpbayes.client.PlanException;

/** Checks that the person has consented to a survey, and to the plan to be used. */
public final class Consent {
    private Consent() {
    }

    /**
     * Throws ConsentException unless the person has agreed.
     *
     * @param isAgreed whether they have
     */
    public static void requireConsent(boolean isAgreed) {
        if (isAgreed) return;
        throw new ConsentException("no consent to this survey at this URL: call grant()", Reason.NO_CONSENT);
    }

    /**
     * Throws PlanException unless a plan is the only one that is accepted: by the journal, or by the
     * application.
     *
     * @param digest of the plan
     * @param accepted the digest of the only plan; if it is empty, any plan is accepted
     */
    public static void requireDigest(String digest, String accepted) {
        if (accepted.isEmpty() || accepted.equals(digest)) return;
        throw new PlanException("the plan has digest " + digest + ", not " + accepted
            + ": a changed survey needs a new id");
    }
}
