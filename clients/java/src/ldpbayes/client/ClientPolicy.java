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
    /** The origin of the only relay through which reports are sent; empty if they are sent directly. */
    final String relay;
    private final BigDecimal maxEpsilon;
    private final BigDecimal maxLocalEpsilon;

    ClientPolicy(ClientOptions options) {
        digest = options.digest;
        publicKey = options.publicKey;
        maxEpsilon = options.maxEpsilon;
        maxTotalEpsilon = options.maxTotalEpsilon;
        relay = options.relay;
        maxLocalEpsilon = options.maxLocalEpsilon;
    }

    /**
     * Throws PlanException or BudgetException unless the policy accepts a plan that was signed with a key.
     * {@code promise} is the epsilon that the plan promises with its relay, or empty.
     */
    void check(String planDigest, String epsilon, String promise, String signer) {
        Journal.requireDigest(planDigest, digest);
        if (!isSignedBy(signer)) {
            throw new PlanException("the plan lacks the required signature: call grant()");
        }
        if (promise.isEmpty() != relay.isEmpty()) {
            throw new PlanException("the plan has another relay, or none", Reason.OTHER_PLAN);
        }
        requireAtMost(promise.isEmpty() ? epsilon : promise, maxEpsilon, "maxEpsilon");
        if (!promise.isEmpty()) requireAtMost(epsilon, maxLocalEpsilon, "maxLocalEpsilon");
    }

    private static void requireAtMost(String epsilon, BigDecimal limit, String name) {
        if (new BigDecimal(epsilon).compareTo(limit) <= 0) return;
        String what = name.equals("maxLocalEpsilon") ? "the plan's epsilon without trust in the relay is "
            : "the plan's epsilon is ";
        throw new BudgetException(what + epsilon + ", more than " + name, Reason.EPSILON_ABOVE_CAP);
    }

    boolean isSignedBy(String signer) {
        return publicKey.isEmpty() || publicKey.equals(signer);
    }

    /** Returns whether the policy, which may have become stricter, still accepts a queued report. */
    boolean accepts(JournalEntry entry) {
        try {
            check(entry.digest, entry.epsilon, entry.promise, entry.identity.signer);
            return relay.isEmpty() || relay.equals(entry.identity.origin);
        } catch (LdpException error) {
            return false;
        }
    }
}
