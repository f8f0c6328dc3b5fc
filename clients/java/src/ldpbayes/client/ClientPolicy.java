package ldpbayes.client;

import java.math.BigDecimal;
import ldpbayes.LdpException;
import ldpbayes.Reason;
import ldpbayes.client.journal.Journal;
import ldpbayes.client.journal.JournalEntry;

/**
 * The limits that a client checks every plan and every queued report against: on epsilon, and on the plan.
 */
final class ClientPolicy {
    /** The only plan to accept; empty if any is. */
    final String digest;
    /** Empty if no signature is required. */
    final String publicKey;
    /** The epsilon that all surveys of the journal may spend in total, or null. */
    final BigDecimal maxTotalEpsilon;
    private final BigDecimal maxEpsilon;

    ClientPolicy(ClientOptions options) {
        digest = options.digest;
        publicKey = options.publicKey;
        maxEpsilon = options.maxEpsilon;
        maxTotalEpsilon = options.maxTotalEpsilon;
    }

    /**
     * Throws PlanException or BudgetException unless the policy accepts a plan that was signed with a key.
     */
    void check(String planDigest, String epsilon, String signer) {
        Journal.requireDigest(planDigest, digest);
        if (!isSignedBy(signer)) {
            throw new PlanException("the plan lacks the required signature: call grant()");
        }
        if (new BigDecimal(epsilon).compareTo(maxEpsilon) > 0) {
            throw new BudgetException("the plan's epsilon is " + epsilon + ", more than maxEpsilon",
                Reason.EPSILON_ABOVE_CAP);
        }
    }

    boolean isSignedBy(String signer) {
        return publicKey.isEmpty() || publicKey.equals(signer);
    }

    /** Returns whether the policy, which may have become stricter, still accepts a queued report. */
    boolean accepts(JournalEntry entry) {
        try {
            check(entry.digest, entry.epsilon, entry.identity.signer);
            return true;
        } catch (LdpException error) {
            return false;
        }
    }
}
