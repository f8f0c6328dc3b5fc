package ldpbayes.client.journal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import ldpbayes.client.BudgetException;
import ldpbayes.client.Clients;
import ldpbayes.client.ConsentException;
import ldpbayes.client.PlanException;
import ldpbayes.client.State;
import ldpbayes.client.SurveyIdentity;
import ldpbayes.survey.Plan;
import ldpbayes.testing.MemoryStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Which surveys of a journal are the same, and the day of a closed survey; as tests/ldp_client/journal. */
class JournalTest {
    private static final byte[] PLAN = Clients.bytes((String) Clients.readVectors("good-de").get("plan"));
    private static final String HERE = "https://here.test";
    private static final String THERE = "https://there.test";
    private static final long DAY = 86_400_000;

    private static final BinaryOperator<JournalEntry> UNCHANGED = (known, agreed) -> agreed;

    private final Journal journal = new Journal(new MemoryStore());

    private static byte[] bytesOf(String id, String family) {
        return id.equals(family) ? Clients.changed(PLAN, "id", id)
            : Clients.changed(PLAN, "id", id, "family", family);
    }

    private static Plan plan(String id, String family) {
        return Plan.read(bytesOf(id, family));
    }

    private static SurveyIdentity survey(String id, String origin, String signer) {
        return new SurveyIdentity(id, origin, signer);
    }

    private void grant(SurveyIdentity survey, String family) {
        byte[] bytes = bytesOf(survey.survey, family);
        String url = survey.origin + "/v1/surveys/" + survey.survey;
        journal.grant(survey, Plan.read(bytes), bytes, url, null, UNCHANGED);
    }

    /** Makes a report of one byte; returns whether there was no earlier one. */
    private boolean commit(SurveyIdentity survey, String family, int report) {
        return journal.commit(survey, plan(survey.survey, family), making(new byte[] {(byte) report}), null);
    }

    private static UnaryOperator<JournalEntry> making(byte[] report) {
        return agreed -> agreed.queued(report, "1", null, null);
    }

    private void refuseDraw(SurveyIdentity survey, String family, JournalEntry expected) {
        assertFalse(journal.commit(survey, plan(survey.survey, family), agreed -> {
            throw new AssertionError("was drawn");
        }, null));
        assertEquals(expected.identity, journal.find(survey, family).identity);
    }

    @Test
    void anUnsignedSurveyOfAnotherOriginIsAnotherSurvey() {
        for (String family : new String[] {"sleep", "health"}) {
            Journal fresh = new Journal(new MemoryStore());
            SurveyIdentity here = survey("sleep", HERE, "");
            SurveyIdentity there = survey("sleep", THERE, "");
            byte[] bytes = bytesOf("sleep", family);
            Plan plan = Plan.read(bytes);
            fresh.grant(here, plan, bytes, HERE, null, UNCHANGED);
            assertTrue(fresh.commit(here, plan, making(new byte[] {1}), null));
            assertNull(fresh.find(there, there.survey)); // consent is not inherited
            assertThrows(ConsentException.class, () -> fresh.commit(there, plan, making(new byte[1]), null));
            fresh.grant(there, plan, bytes, THERE, null, UNCHANGED);
            BigDecimal limit = new BigDecimal("1.999");
            assertThrows(BudgetException.class, () -> fresh.commit(there, plan, making(new byte[1]), limit));
            assertTrue(fresh.commit(there, plan, making(new byte[] {2}), new BigDecimal("2")));
            fresh.withdraw(there, there.survey);
            assertEquals(State.QUEUED, fresh.find(here, here.survey).state);
            assertArrayEquals(new byte[] {1}, fresh.find(here, here.survey).report);
        }
    }

    @Test
    void aSignedSurveyIsTheSameAtEveryOrigin() {
        for (String family : new String[] {"sleep", "health"}) {
            Journal fresh = new Journal(new MemoryStore());
            byte[] bytes = bytesOf("sleep", family);
            Plan plan = Plan.read(bytes);
            SurveyIdentity here = survey("sleep", HERE, "key");
            SurveyIdentity moved = survey("sleep", THERE, "key");
            fresh.grant(here, plan, bytes, "here", null, UNCHANGED);
            assertEquals("here", fresh.find(moved, moved.survey).url);
            fresh.grant(moved, plan, bytes, "there", null, UNCHANGED);
            assertEquals(1, fresh.entries().size()); // the consent has moved
            assertEquals("there", fresh.entries().get(0).url);
            assertTrue(fresh.commit(moved, plan, making(new byte[] {1}), null));
            fresh.grant(here, plan, bytes, "here", null, UNCHANGED);
            assertFalse(fresh.commit(here, plan, making(new byte[] {2}), null));
            assertArrayEquals(new byte[] {1}, fresh.find(here, here.survey).report);
            fresh.withdraw(here, here.survey);
            assertEquals(State.WITHDRAWN, fresh.find(moved, moved.survey).state);
        }
    }

    @Test
    void pinningAKeyLaterAllowsNoSecondReport() {
        SurveyIdentity unsigned = survey("sleep", HERE, "");
        grant(unsigned, "sleep");
        assertTrue(commit(unsigned, "sleep", 1));
        SurveyIdentity signed = survey("sleep", HERE, "key");
        grant(signed, "sleep");
        refuseDraw(signed, "sleep", journal.find(unsigned, unsigned.survey));
    }

    @Test
    void findPrefersAReportToAConsentAtTheSameOrigin() {
        SurveyIdentity there = survey("sleep", THERE, "key");
        grant(there, "sleep");
        assertTrue(commit(there, "sleep", 1));
        grant(survey("sleep", HERE, ""), "sleep"); // an application without the key has consent, too
        assertArrayEquals(new byte[] {1}, journal.find(survey("sleep", HERE, "key"), "sleep").report);
    }

    @Test
    void droppingTheAuthorsKeyAllowsNoSecondReport() {
        SurveyIdentity first = survey("first", HERE, "key");
        grant(first, "health");
        grant(survey("second", THERE, "key"), "health");
        assertTrue(commit(first, "health", 1));
        SurveyIdentity unpinned = survey("second", THERE, "");
        refuseDraw(unpinned, "health", journal.find(first, first.survey));
        assertEquals("first", journal.find(unpinned, unpinned.survey).identity.survey);
        journal.withdraw(unpinned, unpinned.survey);
        for (JournalEntry each : journal.entries()) assertTrue(each.state != State.QUEUED);
    }

    @Test
    void anotherPlanOfTheSurveyIsRefusedEvenAfterAWithdrawal() {
        SurveyIdentity survey = survey("sleep", HERE, "");
        grant(survey, "sleep");
        journal.withdraw(survey, survey.survey);
        assertEquals(State.NO_CONSENT, journal.find(survey, survey.survey).state);
        assertThrows(PlanException.class, () -> grant(survey, "health"));
        assertThrows(ConsentException.class, () -> commit(survey, "sleep", 1));
        grant(survey, "sleep");
        assertTrue(commit(survey, "sleep", 1));
    }

    @Test
    void theSumOfEpsilonIsExact() throws IOException {
        // in doubles, 1.1 + 2.2 + 1 is more than 4.3
        for (String limit : new String[] {"4.2999", "4.3"}) {
            MemoryStore store = new MemoryStore();
            Journals.spend(store, "1.1", "2.2");
            Journal fresh = new Journal(store);
            SurveyIdentity survey = survey("sleep", HERE, "");
            byte[] bytes = bytesOf("sleep", "sleep");
            fresh.grant(survey, Plan.read(bytes), bytes, HERE, null, UNCHANGED);
            Executable commit = () ->
                fresh.commit(survey, Plan.read(bytes), making(new byte[1]), new BigDecimal(limit));
            if (limit.equals("4.3")) assertDoesNotThrow(commit);
            else assertThrows(BudgetException.class, commit);
        }
    }

    @Test
    void theDayOfAClosedSurveyBeginsAgainIfTheClockWasSetBack() {
        SurveyIdentity survey = survey("sleep", HERE, "");
        grant(survey, "sleep");
        commit(survey, "sleep", 1);
        assertEquals("", journal.find(survey, survey.survey).reason);
        long[][] times = {{5, 0}, {3, 0}, {4, -1}, {4, 0}};
        for (int each = 0; each < times.length; each++) {
            long now = times[each][0] * DAY + times[each][1];
            State state = journal.recordOutcome(survey, State.EXPIRED, "survey-closed", now).state;
            assertEquals(each == 3 ? State.EXPIRED : State.QUEUED, state);
            assertEquals(each == 3 ? "survey-closed" : "closed-once", journal.find(survey, "sleep").reason);
        }
        assertNull(journal.find(survey, survey.survey).report);
    }

    @Test
    void anEntryWithAWaveIsANewVersionAndTheOthersStayAsOlderVersionsReadThem() throws IOException {
        byte[] bytes = bytesOf("sleep", "sleep");
        SurveyIdentity survey = survey("sleep", HERE, "");
        JournalEntry former = new JournalEntry(survey, "sleep", HERE, Plan.read(bytes).digest(), bytes);
        assertEquals(1, former.toBytes()[0]);
        assertEquals("", JournalEntry.ofBytes(former.toBytes()).wave);
        JournalEntry asked = former.inWave("2027-01", "not-asked").refused();
        assertEquals(3, asked.toBytes()[0]);
        JournalEntry found = JournalEntry.ofBytes(asked.toBytes());
        assertEquals("2027-01 not-asked no_consent", found.wave + " " + found.reason + " " + found.state);
        assertArrayEquals(asked.toBytes(), found.toBytes());
        byte[] later = asked.toBytes();
        later[0] = 4;
        assertThrows(IOException.class, () -> JournalEntry.ofBytes(later));
    }

    @Test
    void anOutcomeIsFinalAndDeletesReportAndPlan() {
        SurveyIdentity survey = survey("sleep", HERE, "");
        grant(survey, "sleep");
        commit(survey, "sleep", 1);
        assertEquals(State.SENT, journal.recordOutcome(survey, State.SENT, "", 0).state);
        assertEquals(State.SENT, journal.recordOutcome(survey, State.REJECTED, "bad-payload", 0).state);
        journal.withdraw(survey, survey.survey);
        grant(survey, "sleep");
        JournalEntry entry = journal.find(survey, survey.survey);
        assertEquals(State.SENT, entry.state);
        assertEquals("1", entry.epsilon);
        assertNull(entry.report);
        assertNull(entry.plan);
        assertNull(journal.findQueued(survey));
    }
}
