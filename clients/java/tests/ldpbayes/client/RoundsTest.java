package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.PLAN;
import static ldpbayes.client.Clients.ROW;
import static ldpbayes.client.Clients.reported;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import ldpbayes.Json;
import ldpbayes.client.journal.Journals;
import ldpbayes.testing.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Repeated answers, other rounds, and withdrawals: what receipts and outcomes say of one report. */
class RoundsTest {
    private static final String FIRST = "tea";

    private final Clients clients = new Clients();

    @AfterEach
    void close() {
        clients.close();
    }

    /** Makes a client of a round of a family; the id of the first round is the family. */
    private Client round(String id, String family, Consumer<ClientOptions> change) {
        ClientOptions options = Clients.options(clients.store, clients.recorder);
        change.accept(options);
        Map<String, Object> document = new LinkedHashMap<>(Clients.documentOf(PLAN));
        document.remove("family");
        document.put("id", id);
        if (!family.equals(id)) document.put("family", family);
        byte[] plan = Clients.bytes(Json.write(document));
        return clients.keep(new Client(plan, "https://collector.example/v1/surveys/" + id, options));
    }

    private Client round(String id) {
        return round(id, FIRST, options -> { });
    }

    private static String text(Receipt receipt) {
        return receipt + " of " + receipt.survey();
    }

    @Test
    void aSecondAnswerSaysWhyTheFirstStillWaits() {
        Client client = reported(round(FIRST));
        clients.recorder.respond(Recorder.Behaviour.BUSY, 600);
        assertEquals("too-many-requests", client.flush(60).reason());
        String expected = "already_reported (too-many-requests: the collector responded: too-many-requests)";
        assertEquals(expected.replace("already_reported", "queued"), client.status().toString());
        assertEquals(expected, client.report(ROW, LABEL).toString());
        Client later = round("tea-round2");
        for (Receipt each : new Receipt[] {later.grant(), later.status(), later.report(ROW, LABEL),
            later.flush(0)}) {
            assertEquals(expected + " of tea", text(each));
        }
    }

    @Test
    void aSecondAnswerSaysThatTheSurveyWasClosedOnce() {
        Client client = reported(round(FIRST));
        clients.recorder.respond(Recorder.Behaviour.CLOSED, 0);
        Receipt waits = Clients.attempted(client);
        assertEquals("queued closed-once", waits.state() + " " + waits.reason());
        Receipt again = client.report(ROW, LABEL);
        assertEquals(waits.toString().replace("queued", "already_reported"), again.toString());
    }

    @Test
    void withdrawingKeepsTheReportOfAFamilyThatHasTheNameOfThisRound() {
        Client named = reported(round("c", "b", options -> { }));
        round("b").grant();
        assertEquals(State.NO_CONSENT, round("b").withdraw().state()); // a client that has not read the plan
        assertEquals(State.QUEUED, named.status().state());
    }

    @TestFactory
    List<DynamicTest> withdrawingARoundThatWasNeverGrantedDeletesTheReportOfAnotherRound() {
        List<DynamicTest> tests = new ArrayList<>();
        for (String[] ids : new String[][] {{FIRST, "tea-round3"}, {"tea-round2", FIRST}}) {
            tests.add(DynamicTest.dynamicTest(String.join(" by ", ids), () -> {
                RoundsTest test = new RoundsTest();
                Client answered = reported(test.round(ids[0]));
                Client never = test.round(ids[1]);
                if (!ids[1].equals(FIRST)) { // only its plan names the family
                    assertEquals(State.NO_CONSENT, never.status().state());
                    never.plan();
                }
                assertEquals(State.ALREADY_REPORTED, never.status().state());
                assertEquals(ids[0], never.report(ROW, LABEL).survey());
                assertEquals("withdrawn of " + ids[0], text(never.withdraw()));
                assertEquals(State.WITHDRAWN, answered.status().state());
                assertNull(Journals.only(test.clients.store).report);
                answered.close(60);
                assertEquals(0, test.clients.recorder.bodies().size());
                test.close();
            }));
        }
        return tests;
    }

    @Test
    void withdrawingFromAnotherSurveyOrAtAnotherOriginKeepsTheReport() {
        Client client = reported(round("tea-round2"));
        Client other = round("other", "other", options -> { });
        byte[] plan = Clients.changed(PLAN, "id", "tea-round3", "family", FIRST);
        Client elsewhere = clients.keep(new Client(plan, "https://elsewhere.example/v1/surveys/tea-round3",
            Clients.options(clients.store, clients.recorder)));
        for (Client each : new Client[] {other, elsewhere}) {
            each.plan();
            assertEquals(State.NO_CONSENT, each.withdraw().state());
        }
        assertEquals(State.QUEUED, client.status().state());
    }

    @Test
    void withdrawingARoundKeepsTheConsentToAnother() {
        Client first = round(FIRST);
        first.grant();
        Client second = round("tea-round2");
        second.grant();
        assertEquals(State.NO_CONSENT, first.withdraw().state());
        assertEquals(State.READY, second.status().state());
    }

    @Test
    void aWithdrawalOfARoundThatWasNeverGrantedHoldsTheReportBackIfItCannotBeRecorded() {
        Client answered = reported(round(FIRST));
        Client never = round("tea-round2");
        never.plan();
        clients.store.setBroken(true);
        assertEquals("journal-unavailable", never.withdraw().reason());
        clients.store.setBroken(false);
        assertEquals(State.QUEUED, answered.flush(1).state());
        assertEquals(0, clients.recorder.bodies().size());
        // the person agrees again to the round that they answered
        assertEquals(State.QUEUED, answered.grant().state());
        assertEquals(State.SENT, answered.flush(60).state());
    }

    @Test
    void theThreadKnowsAReportThatWasHeldBackOnceThePersonAgreesAgain() {
        Client client = reported(round(FIRST));
        clients.store.setBroken(true);
        client.withdraw();
        clients.store.setBroken(false);
        client.flush(1); // the thread finds that the report is held back, and ends
        assertEquals(0, clients.recorder.bodies().size());
        client.grant();
        client.close(60);
        assertEquals(1, clients.recorder.bodies().size());
    }

    @TestFactory
    List<DynamicTest> aReportThatIsWithdrawnDuringItsPostHasTheOutcomeOfTheJournal() {
        List<DynamicTest> tests = new ArrayList<>();
        for (Transport collector : new Transport[] {Clients.responding(200, "{\"status\":\"recorded\"}"),
            Clients.responding(400, "{\"reason\":\"bad-payload\"}")}) {
            for (boolean isInBackground : new boolean[] {true, false}) {
                tests.add(DynamicTest.dynamicTest(isInBackground ? "thread" : "flush", () -> {
                    List<String> outcomes = Collections.synchronizedList(new ArrayList<>());
                    Client[] client = new Client[1];
                    RoundsTest test = new RoundsTest();
                    client[0] = test.round(FIRST, FIRST, options -> options.background(isInBackground)
                        .onOutcome(receipt -> outcomes.add(receipt.toString()))
                        .transport((method, url, body, timeout) -> {
                            assertEquals(State.WITHDRAWN, client[0].withdraw().state());
                            return collector.request(method, url, body, timeout);
                        }));
                    reported(client[0]);
                    assertEquals("withdrawn", client[0].flush(60).toString());
                    Clients.await(() -> outcomes.size() == 2);
                    assertEquals(Arrays.asList("queued", "withdrawn"), outcomes);
                    test.close();
                }));
            }
        }
        return tests;
    }
}
