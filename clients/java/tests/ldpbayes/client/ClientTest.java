package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.PLAN;
import static ldpbayes.client.Clients.ROW;
import static ldpbayes.client.Clients.SURVEY;
import static ldpbayes.client.Clients.URL;
import static ldpbayes.client.Clients.attempted;
import static ldpbayes.client.Clients.reported;
import static ldpbayes.client.Clients.responding;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import ldpbayes.Bytes;
import ldpbayes.LdpException;
import ldpbayes.RandomSource;
import ldpbayes.client.journal.JournalEntry;
import ldpbayes.client.journal.Journals;
import ldpbayes.explain.Preview;
import ldpbayes.explain.PreviewOptions;
import ldpbayes.survey.DisplayTexts;
import ldpbayes.survey.SurveyTexts;
import ldpbayes.testing.MemoryStore;
import ldpbayes.testing.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The rules of the client: options, journal, family, budget, plans, texts. */
class ClientTest {
    private static final String ZEROS = String.format("%064d", 0);

    private final Clients clients = new Clients();

    @AfterEach
    void close() {
        clients.close();
    }

    private static void refuses(String reason, String word, Executable mistake) {
        OptionException error = assertThrows(OptionException.class, mistake);
        assertEquals(reason, error.reason());
        assertTrue(error.getMessage().contains(word), error.getMessage());
    }

    private ClientOptions options() {
        return Clients.options(clients.store, clients.recorder);
    }

    @Test
    void aMistakeOfTheApplicationThrowsAnOptionExceptionThatNamesTheOption() {
        ClientOptions options = new ClientOptions();
        refuses("bad-person", "person", () -> options.person(""));
        refuses("bad-person", "person", () -> options.person("a b"));
        refuses("bad-person", "person", () -> options.person("ann\n"));
        refuses("bad-person", "person", () -> options.person(new String(new char[65]).replace('\0', 'a')));
        refuses("bad-option", "maxEpsilon", () -> options.maxEpsilon(0));
        refuses("bad-option", "maxTotalEpsilon", () -> options.maxTotalEpsilon(Double.NaN));
        refuses("bad-option", "maxTotalEpsilon", () -> options.maxTotalEpsilon(Double.POSITIVE_INFINITY));
        refuses("bad-option", "spread", () -> options.spread(-1));
        refuses("bad-option", "publicKey", () -> options.publicKey("key"));
        refuses("bad-digest", "digest", () -> options.digest("5824"));
        refuses("bad-option", "onOutcome", () -> options.onOutcome(null));
        refuses("bad-option", "transport", () -> options.transport(null));
        refuses("bad-option", "journal", () -> options.journal((File) null));
        refuses("bad-option", "journal", () -> new Client(URL, new ClientOptions()));
        refuses("bad-person", "person",
            () -> new Client(URL, new ClientOptions().journal(new File("/nowhere"))));
        refuses("bad-option", "person", () -> new Client(URL, options().person("ann")));
        refuses("bad-option", "journal", () -> options().journal(new File("/nowhere")));
        String key = "A" + new String(new char[42]).replace('\0', 'A') + "=";
        refuses("bad-option", "publicKey", () -> new Client(PLAN, URL, options().publicKey(key)));
    }

    @Test
    void onlyTheUrlOfASurveyIsAccepted() {
        for (String each :
            new String[] {"sleep", "https://collector.example/v1/surveys/", "https://c.example/v1/surveys",
            "https://collector.example/v1/surveys/sleep?x", "ftp://collector.example/v1/surveys/sleep", null,
                "",
            "https://bücher.example/v1/surveys/sleep", "https://c.example:0/v1/surveys/sleep",
            "https://c.example:65536/v1/surveys/sleep", "https://c.example/a b/sleep",
                "https:///v1/surveys/sleep"}) {
            refuses("bad-option", "url", () -> new Client(each, options()));
        }
    }

    @Test
    void oneOriginHasOneSpelling() {
        for (String each :
            new String[] {"https://collector.test/v1/surveys/sleep", "https://collector.test:443/a/sleep/",
            "https://Collector.Test./behind/v1/surveys/sleep", "https://collector.test:0443/sleep"}) {
            assertEquals("https://collector.test", SurveyIdentity.ofUrl(each, "").origin);
            assertEquals("sleep", SurveyIdentity.ofUrl(each, "").survey);
        }
        assertEquals("http://collector.test",
            SurveyIdentity.ofUrl("http://collector.test:80/sleep", "").origin);
        assertEquals("http://collector.test:443",
            SurveyIdentity.ofUrl("http://collector.test:443/sleep", "").origin);
        assertEquals("http://[0:0:0:0:0:0:0:1]:8000",
            SurveyIdentity.ofUrl("http://[::1]:8000/v1/surveys/sleep", "").origin);
        assertEquals(SurveyIdentity.ofUrl("http://[0:0:0:0:0:0:0:1]/sleep", "").origin,
            SurveyIdentity.ofUrl("http://[::1]/sleep", "").origin);
    }

    @Test
    void aSurveyIsTheSameByOriginOrByKey() {
        SurveyIdentity signed = new SurveyIdentity("sleep", "https://a", "key");
        assertTrue(signed.matches(new SurveyIdentity("sleep", "https://a", "other key")));
        assertTrue(signed.matches(new SurveyIdentity("sleep", "https://b", "key")));
        assertFalse(signed.matches(new SurveyIdentity("sleep", "https://b", "")));
        assertFalse(signed.matches(new SurveyIdentity("diet", "https://a", "key")));
        assertFalse(
            new SurveyIdentity("sleep", "https://a",
            "").matches(new SurveyIdentity("sleep", "https://b", "")));
    }

    @Test
    void nothingHappensBeforeConsent() throws Exception {
        Client client = clients.make();
        assertEquals("no_consent (no-consent)", client.status().toString());
        assertEquals(State.NO_CONSENT, client.withdraw().state());
        assertEquals(State.NO_CONSENT, client.flush(0).state());
        assertTrue(clients.store.read().isEmpty());
        assertEquals(SURVEY, client.plan().id());
        assertTrue(clients.store.read().isEmpty());
    }

    @Test
    void callsAtOnceDrawOneReport() throws Exception {
        AtomicInteger draws = new AtomicInteger();
        RandomSource random = count -> {
            draws.incrementAndGet();
            return new byte[count];
        };
        clients.make().grant();
        List<String> states = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 8; number++) {
            Client client = clients.make(options -> options.random(random));
            threads.add(new Thread(() -> states.add(client.report(ROW, LABEL).state().toString())));
        }
        for (Thread each : threads) each.start();
        for (Thread each : threads) each.join();
        Collections.sort(states);
        List<String> expected = new ArrayList<>(Collections.nCopies(7, "already_reported"));
        expected.add("queued");
        assertEquals(expected, states);
        assertEquals(3, draws.get(), "the question, the id, the mechanism");
    }

    @Test
    void aSourceOfRandomnessThatFailsSpendsNothing() {
        Client client = clients.make(options -> options.random(count -> new byte[0]));
        client.grant();
        Receipt receipt = client.report(ROW, LABEL);
        assertEquals("unavailable no-randomness", receipt.state() + " " + receipt.reason());
        assertEquals(State.READY, client.status().state());
        assertEquals("0", Journals.only(clients.store).epsilon);
    }

    @Test
    void aStoreThatFailsAfterTheDrawSpendsNothingAndTheNextCallDrawsAnew() {
        Client client = clients.make(options -> options.random(count -> {
            clients.store.setBroken(true);
            return new byte[count];
        }));
        client.grant();
        assertEquals("journal-unavailable", client.report(ROW, LABEL).reason());
        clients.store.setBroken(false);
        assertEquals(State.READY, client.status().state());
        assertEquals(State.QUEUED, clients.make().report(ROW, LABEL).state());
    }

    @Test
    void aRowIsReadOnceAndWhenReportIsCalled() {
        List<String> reads = new ArrayList<>();
        Map<String, Object> row = new LinkedHashMap<String, Object>(ROW) {
            private static final long serialVersionUID = 1L;

            @Override
            public Object get(Object name) {
                reads.add((String) name);
                return super.get(name);
            }
        };
        Client client = clients.make();
        client.grant();
        assertEquals(State.QUEUED, client.report(row, LABEL).state());
        assertEquals(new HashSet<>(reads).size(), reads.size());
        assertEquals(0, clients.recorder.bodies().size());
    }

    @Test
    void aSurveyWithoutALabelIsAnsweredWithTheRowAlone() {
        Map<?, ?> vectors = Clients.readVectors("good-unlabelled");
        byte[] plan = Clients.bytes((String) vectors.get("plan"));
        Client client = clients.keep(new Client(plan, "https://c.example/" + Clients.idOf(plan), options()));
        client.grant();
        Map<String, Object> row = Clients.rowOf(Clients.firstCase(vectors));
        assertEquals(State.INVALID, client.report(row, "yes").state());
        assertEquals(State.QUEUED, client.report(row).state());
    }

    @Test
    void aShippedPlanNeedsNoNetworkForTheFirstAnswerAndMustHaveThePinnedDigest() {
        Map<?, ?> vectors = Clients.readVectors("good-texts");
        byte[] plan = Clients.bytes((String) vectors.get("plan"));
        String url = "https://c.example/" + Clients.idOf(plan);
        clients.recorder.setOffline(true);
        Client client =
            clients.keep(new Client(plan, url, options().digest((String) vectors.get("digest"))));
        SurveyTexts texts = SurveyTexts.read(client.plan(), Clients.bytes((String) vectors.get("texts")));
        assertEquals("en", DisplayTexts.of(client.plan(), texts, Arrays.asList("en")).language());
        assertEquals(State.READY, client.grant().state());
        Map<?, ?> first = Clients.firstCase(vectors);
        assertEquals(State.QUEUED, client.report(Clients.rowOf(first), first.get("label")).state());
        ClientOptions pinned = Clients.options(new MemoryStore(), clients.recorder);
        pinned.digest((String) Clients.VECTORS.get("digest"));
        Client other = clients.keep(new Client(plan, url, pinned));
        assertEquals("rejected plan-changed", other.grant().state() + " " + other.grant().reason());
        String key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        assertThrows(OptionException.class, () -> new Client(plan, url, options().publicKey(key)));
    }

    @Test
    void aListOrAnArrayOfTickedChoicesIsRead() {
        Map<?, ?> vectors = Clients.readVectors("good-choices");
        byte[] plan = Clients.bytes((String) vectors.get("plan"));
        Map<String, Object> row = Clients.rowOf(Clients.firstCase(vectors));
        for (Object cups : new Object[] {new String[] {"small"}, Arrays.asList(new StringBuilder("small"))}) {
            ClientOptions options = Clients.options(new MemoryStore(), clients.recorder);
            Client client =
                clients.keep(new Client(plan, "https://c.example/" + Clients.idOf(plan), options));
            client.grant();
            row.put("cups", cups);
            assertEquals("queued", client.report(row, Clients.firstCase(vectors).get("label")).toString());
        }
    }

    @Test
    void anotherRoundOfTheSurveyAtTheSameOriginIsAnsweredAlready() {
        Client client = reported(clients.make());
        byte[] next = Clients.changed(PLAN, "id", "second-round", "family",
            Clients.documentOf(PLAN).get("family"));
        Client second =
            clients.keep(new Client(next, "https://collector.example/v1/surveys/second-round", options()));
        second.grant();
        Receipt receipt = second.report(ROW, LABEL);
        assertEquals("already_reported " + SURVEY, receipt.state() + " " + receipt.survey());
        assertEquals(0, receipt.epsilon());
        Client elsewhere =
            clients.keep(new Client(next, "https://other.example/v1/surveys/second-round", options()));
        assertEquals(State.READY, elsewhere.grant().state());
        assertEquals(State.QUEUED, elsewhere.report(ROW, LABEL).state());
        assertEquals(State.WITHDRAWN, second.withdraw().state());
        assertEquals(State.WITHDRAWN, client.status().state());
        assertEquals(State.QUEUED, elsewhere.status().state());
    }

    @Test
    void theBudgetOfAllSurveysIsExact() {
        double epsilon = Double.parseDouble((String) Clients.documentOf(PLAN).get("epsilon"));
        for (String host : new String[] {"collector", "other"}) {
            Client client = clients.make(URL.replace("collector", host),
                options -> options.maxTotalEpsilon(2 * epsilon));
            client.grant();
            assertEquals(State.QUEUED, client.report(ROW, LABEL).state());
        }
        Client third = clients.make(URL.replace("collector", "third"),
            options -> options.maxTotalEpsilon(2 * epsilon));
        assertEquals("total-epsilon-spent", third.grant().reason());
    }

    @Test
    void consentToOneUrlIsNotConsentToAnother() {
        clients.make().grant();
        Client moved = clients.make(URL.replace("/v1", "/proxy/v1"), options -> { });
        assertEquals("no-consent", moved.report(ROW, LABEL).reason());
    }

    @Test
    void aShippedPlanNeedsNoNetworkAndAnotherPlanOfTheSurveyIsRefused() {
        clients.recorder.setOffline(true);
        byte[] shipped = PLAN.clone();
        Client client = clients.keep(new Client(shipped, URL, options()));
        Arrays.fill(shipped, (byte) 0); // the client has a copy
        assertEquals(State.READY, client.grant().state());
        assertArrayEquals(PLAN, Journals.only(clients.store).plan);
        Client changed = clients.keep(new Client(Clients.changed(PLAN, "family", "changed"), URL, options()));
        assertEquals("plan-changed", changed.grant().reason());
        assertEquals("plan-changed", changed.report(ROW, LABEL).reason());
        Client other = clients.keep(new Client(PLAN, "https://collector.example/another", options()));
        assertEquals("invalid-plan", other.grant().reason());
    }

    @Test
    void aPinnedPlanNeedsNoNetwork() {
        clients.make().grant();
        clients.recorder.setOffline(true);
        Client client = clients.make();
        assertEquals(SURVEY, client.plan().id());
        assertEquals(State.QUEUED, client.report(ROW, LABEL).state());
    }

    @Test
    void aClientThatPinsAnotherPlanDoesNotSendTheReportOfAnEarlierVersion() {
        Client client = reported(clients.make());
        clients.recorder.setOffline(true);
        client.close();
        Recorder recorder = new Recorder(PLAN);
        Client stricter = clients.make(options -> options.transport(recorder).digest(ZEROS));
        assertEquals("plan-changed", attempted(stricter).reason());
        assertEquals("plan-changed", stricter.status().reason());
        assertEquals(0, recorder.bodies().size());
    }

    @Test
    void theBytesAreEqualAtEveryAttempt() {
        Client client = reported(clients.make());
        clients.recorder.respond(Recorder.Behaviour.BUSY, 0);
        attempted(client);
        clients.recorder.respond(Recorder.Behaviour.SIGN_IN_PAGE, 0);
        Clients.await(() -> client.flush(0.2).reason().equals("collector-unreachable"));
        clients.recorder.respond(Recorder.Behaviour.NORMAL, 0);
        assertEquals(State.SENT, client.flush(60).state());
        Set<String> bodies = new HashSet<>();
        for (byte[] each : clients.recorder.bodies()) bodies.add(Bytes.toHex(each));
        assertTrue(clients.recorder.bodies().size() >= 3);
        assertEquals(1, bodies.size());
        JournalEntry entry = Journals.only(clients.store);
        assertNull(entry.report);
        assertNull(entry.plan);
    }

    @Test
    void aReportOfAnEarlierRunNeedsNeitherPlanNorRow() {
        Client client = reported(clients.make());
        clients.recorder.setOffline(true);
        client.close(60);
        clients.recorder.setOffline(false);
        List<String> requests = Collections.synchronizedList(new ArrayList<>());
        Transport transport = (method, url, body, timeout) -> {
            requests.add(method);
            return clients.recorder.request(method, url, body, timeout);
        };
        Client later = clients.make(options -> options.transport(transport));
        assertEquals(State.ALREADY_REPORTED, later.report(Collections.emptyMap(), null).state());
        assertEquals(State.SENT, later.flush(60).state());
        assertEquals(Arrays.asList("POST"), requests);
    }

    @Test
    void aCollectorThatIsBusyIsLeftAloneForItsPause() {
        for (int status : new int[] {429, 503}) {
            AtomicInteger posts = new AtomicInteger();
            Transport busy = responding(status, "{\"reason\":\"store-unavailable\"}", 30);
            Transport counting = (method, url, body, timeout) -> {
                if (body != null) posts.incrementAndGet();
                return busy.request(method, url, body, timeout);
            };
            Client client = clients.keep(new Client(URL, Clients.options(new MemoryStore(), counting)));
            reported(client);
            for (int each = 0; each < 3; each++) {
                assertEquals("store-unavailable", attempted(client).reason());
            }
            assertEquals(1, posts.get());
        }
    }

    @Test
    void flushDoesNotWaitForALongerPauseThanItsOwnAndSendsNothingBeforeItsEnd() {
        Client client = reported(clients.make());
        clients.recorder.respond(Recorder.Behaviour.BUSY, 3600);
        attempted(client);
        clients.recorder.respond(Recorder.Behaviour.NORMAL, 0);
        long start = System.nanoTime();
        assertEquals("too-many-requests", client.flush(600).reason());
        assertTrue(System.nanoTime() - start < 100e9);
        assertEquals(1, clients.recorder.bodies().size());
    }

    @Test
    void closeTriesToSendAReportThatWasNeverTried() {
        Client client = reported(clients.make());
        client.close(60);
        assertEquals(1, clients.recorder.reports().size());
        assertEquals("unavailable client-closed", client.grant().state() + " " + client.grant().reason());
        assertEquals(State.SENT, client.status().state());
    }

    @Test
    void aSurveyExpiresWhenItIsStillClosedADayLater() throws Exception {
        Transport closed = responding(410, "{\"reason\":\"survey-closed\"}");
        Client client = clients.make(options -> options.transport(closed));
        reported(client);
        Receipt once = attempted(client);
        assertEquals("queued closed-once", once.state() + " " + once.reason());
        client.close(60);
        Journals.age(clients.store, 86_400_000 - 60_000);
        assertEquals("closed-once", attempted(laterRun(closed)).reason());
        Journals.age(clients.store, 120_000);
        Receipt receipt = laterRun(closed).flush(60);
        assertEquals("expired survey-closed", receipt.state() + " " + receipt.reason());
        assertNull(Journals.only(clients.store).report);
        assertEquals(State.ALREADY_REPORTED, clients.make().report(ROW, LABEL).state());
    }

    /** Returns a client of a later run, which does not know when the last attempt was. */
    private Client laterRun(Transport transport) {
        return clients.keep(new Client(URL, Clients.options(Stores.renamed(clients.store), transport)));
    }

    @Test
    void anInvitationIsCheckedBeforeConsentIsRecorded() throws Exception {
        Map<?, ?> vectors = Clients.readVectors("tokens");
        byte[] plan = Clients.bytes((String) vectors.get("plan"));
        String url = "https://c.example/" + Clients.idOf(plan);
        Map<?, ?> vector = Clients.firstCase(vectors);
        Client without = clients.keep(new Client(plan, url, options()));
        assertEquals("invalid (token: is missing: give the person's invitation)", without.grant().toString());
        assertTrue(clients.store.read().isEmpty());
        String token = (String) vector.get("token");
        Client client = clients.keep(new Client(plan, url, options().token(token)));
        assertEquals(State.READY, client.grant().state());
        assertEquals(State.QUEUED, client.report(Clients.rowOf(vector), vector.get("label")).state());
        assertFalse(client.status().toString().contains(token));
    }

    @Test
    void textsAreFetchedOnceCheckedAndShownInALanguage() {
        Map<?, ?> vectors = Clients.readVectors("good-texts");
        byte[] plan = Clients.bytes((String) vectors.get("plan"));
        byte[][] texts = {Clients.bytes("{\"format\":1}")};
        AtomicInteger fetched = new AtomicInteger();
        Transport transport = (method, url, body, timeout) -> {
            if (url.endsWith("/texts")) fetched.incrementAndGet();
            return new Transport.Response(200, url.endsWith("/texts") ? texts[0] : plan, 0);
        };
        Client client = clients.make("https://c.example/" + Clients.idOf(plan),
            options -> options.transport(transport));
        LdpException error = assertThrows(PlanException.class, () -> client.texts());
        assertEquals("plan-changed", error.reason());
        texts[0] = Clients.bytes((String) vectors.get("texts"));
        DisplayTexts shown = client.texts("pt-BR");
        assertTrue(shown != null && client.texts("en", "de") != null);
        assertEquals(2, fetched.get());
    }

    @Test
    void aSignedPlanIsAcceptedAndAWrongSignatureIsNot() {
        // the key and the signature are those of the Python client's tests
        byte[] plan = Clients.bytes((String) Clients.readVectors("good-de").get("plan"));
        String key = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
        String signature =
            "kBFWy+i39Q69H2tgQ9UCcfLMiCKrgw9dq7Z46nHePnvlcNOz9/uWEqn7Zpk1lJC3FwQimjEOcfKSqT1ON70cAw==\n";
        String[] line = {signature};
        Transport transport = (method, url, body, timeout) -> new Transport.Response(200,
            url.endsWith("/signature") ? Clients.bytes(line[0]) : plan, 0);
        String url = "https://c.example/" + Clients.idOf(plan);
        Client client = clients.make(url, options -> options.transport(transport).publicKey(key));
        assertEquals("ready", client.grant().toString());
        assertEquals(key, Journals.only(clients.store).identity.signer);
        for (String bad : new String[] {signature.replace("k", "l"), signature.substring(4),
            signature.replace("70cAw", "70cIw"), signature.replace("Aw==", "Ax==")}) {
            line[0] = bad;
            ClientOptions options = Clients.options(new MemoryStore(), transport).publicKey(key);
            assertEquals("bad-signature", clients.keep(new Client(url, options)).grant().reason());
        }
    }

    @Test
    void aWithdrawalThatCannotBeRecordedHoldsTheReportBack() {
        Client client = reported(clients.make());
        clients.store.setBroken(true);
        Receipt refused = client.withdraw();
        assertEquals("journal-unavailable", refused.reason());
        assertTrue(refused.why().contains("the withdrawal is not recorded"), refused.why());
        clients.store.setBroken(false);
        assertEquals(State.QUEUED, client.flush(1).state());
        assertEquals(0, clients.recorder.bodies().size());
        assertEquals(State.WITHDRAWN, client.withdraw().state());
    }

    @Test
    void aReportIsSentIfThePersonAgreesAgainAfterAWithdrawalThatFailed() {
        Client client = reported(clients.make());
        clients.store.setBroken(true);
        client.withdraw();
        clients.store.setBroken(false);
        assertEquals(State.QUEUED, client.grant().state());
        assertEquals(State.SENT, client.flush(60).state());
    }

    @Test
    void whyAReportWaitsNamesTheCauseAndNotItsMessage() {
        Client client = clients.make(options -> options.transport((method, url, body, timeout) -> {
            if (body == null) return new Transport.Response(200, PLAN, 0);
            throw new IOException("outer", new SecurityException("10.1.2.3"));
        }));
        reported(client);
        assertEquals("the collector did not respond (SecurityException)", attempted(client).why());
        String reason = "{\"reason\":\"wrong-plan\"}";
        Client refused = clients.keep(new Client(URL,
            Clients.options(new MemoryStore(), responding(403, reason))));
        reported(refused);
        assertEquals("the collector responded: wrong-plan; it serves another plan than the person agreed to",
            attempted(refused).why());
    }

    @Test
    void theStatusAtAnotherUrlOfTheCollectorIsThatOfReport() {
        clients.make().grant();
        Client other =
            clients.make(URL.replace("collector.example", "COLLECTOR.example:443"), options -> { });
        assertEquals(State.NO_CONSENT, other.report(ROW, LABEL).state());
        Receipt status = other.status();
        assertEquals(State.NO_CONSENT, status.state());
        assertTrue(status.why().contains(URL) && status.why().contains("COLLECTOR"), status.why());
        assertEquals(State.READY, other.grant().state());
        assertEquals(State.QUEUED, other.report(ROW, LABEL).state());
    }

    @Test
    void anAddressInBracketsHasAColon() {
        refuses("bad-option", "url", () -> new Client("https://[dead.beef]/v1/surveys/x", options()));
        clients.keep(new Client("https://[::1]/v1/surveys/x", options()));
    }

    @Test
    void aPreviewLeavesItsOptionsAsTheyAre() {
        AtomicInteger draws = new AtomicInteger();
        RandomSource counted = count -> {
            draws.incrementAndGet();
            return RandomSource.SYSTEM.take(count);
        };
        PreviewOptions shared = new PreviewOptions();
        clients.make(options -> options.random(counted)).preview(ROW, LABEL, shared);
        int before = draws.get();
        assertTrue(before > 0);
        Preview.of(clients.make().plan(), ROW, LABEL, shared);
        assertEquals(before, draws.get());
        assertThrows(LdpException.class, () -> clients.make().preview(ROW)); // this survey has a label
    }

    @Test
    void aReceiptPrintsItsStateAndCause() {
        Client client = clients.make();
        assertEquals("ready", client.grant().toString());
        Map<String, Object> row = new LinkedHashMap<>(ROW);
        row.put("share", 1e9);
        Receipt refused = client.report(row, "secret");
        assertTrue(refused.toString().startsWith("invalid ("), refused.toString());
        assertFalse(refused.toString().contains("secret"));
        row.put("left", "secret");
        Receipt several = client.report(row, "secret");
        assertEquals(several.problems().get(0).field(), several.field());
        assertTrue(several.problems().size() >= 2 && several.toString().contains("; "));
        Receipt queued = client.report(ROW, LABEL);
        assertTrue(queued.toString().startsWith("queued"));
    }
}
