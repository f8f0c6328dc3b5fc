package ldpbayes.client;

import static ldpbayes.client.Clients.LABEL;
import static ldpbayes.client.Clients.PLAN;
import static ldpbayes.client.Clients.ROW;
import static ldpbayes.client.Clients.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** A web page in place of a collector's response is a fault of the network, which passes. */
class WebPagesTest {
    private static final String TEXT = new String(PLAN, StandardCharsets.UTF_8);
    private static final String KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    private static final String UNREACHABLE = "unavailable collector-unreachable";

    private final Clients clients = new Clients();

    @AfterEach
    void close() {
        clients.close();
    }

    private static Map<String, Transport.Response> pages() {
        Map<String, Transport.Response> pages = new LinkedHashMap<>();
        pages.put("a sign-in page", page(200, "<!doctype html><title>Sign in</title>"));
        pages.put("an empty page", page(200, ""));
        pages.put("no content", page(204, ""));
        pages.put("other JSON", page(200, "{\"status\":\"ok\"}"));
        pages.put("JSON of a report", page(200, "{\"status\":\"recorded\"}"));
        pages.put("a list", page(200, "[" + TEXT + "]"));
        pages.put("a format that is a text", page(200, "{\"format\":\"html\"}"));
        pages.put("a part of the plan", page(200, TEXT.substring(0, TEXT.length() - 1)));
        pages.put("a compressed page", new Transport.Response(200, new byte[] {31, -117, 8, 0, -1}, 0));
        pages.put("a part by a status", page(206, TEXT));
        pages.put("a page elsewhere", page(302, "<a href='/login'>"));
        pages.put("a page of a filter", page(403, "<html>blocked</html>"));
        pages.put("a missing page", page(404, "<html>"));
        pages.put("a proxy's demand", page(407, "<html>"));
        pages.put("a proxy's failure", page(502, "<html>"));
        pages.put("a network's demand", page(511, "<html>"));
        pages.put("problem+json of another service", page(403, "{\"reason\":\"policy\",\"status\":403}"));
        return pages;
    }

    private static Transport.Response page(int status, String content) {
        return new Transport.Response(status, bytes(content), 0);
    }

    private static String summary(Receipt receipt) {
        return receipt.state() + " " + receipt.reason();
    }

    @TestFactory
    List<DynamicTest> aPageInPlaceOfAPlanIsAFaultOfTheNetwork() {
        List<Consumer<ClientOptions>> pins = Arrays.asList(
            options -> { }, options -> options.digest(String.format("%064d", 0)),
            options -> options.publicKey(KEY));
        return tests(pages(), page -> {
            for (Consumer<ClientOptions> pin : pins) {
                Clients own = new Clients();
                AtomicReference<Transport.Response> response = new AtomicReference<>(page);
                Client client = own.make(pin.andThen(
                    options -> options.transport((method, url, body, timeout) -> response.get())));
                assertEquals(UNREACHABLE, summary(client.grant()));
                assertEquals(UNREACHABLE, summary(client.grant()));
                assertEquals(State.NO_CONSENT, client.report(ROW, LABEL).state());
                assertThrows(TransportException.class, client::plan);
                assertTrue(own.store.read().isEmpty());
                response.set(new Transport.Response(200, PLAN, 0));
                if (pin == pins.get(0)) assertEquals(State.READY, client.grant().state());
                own.close();
            }
        });
    }

    @TestFactory
    List<DynamicTest> aPageInPlaceOfASignatureIsAFaultOfTheNetwork() {
        return tests(pages(), page -> {
            Transport transport = (method, url, body, timeout) ->
                url.endsWith("/signature") ? page : new Transport.Response(200, PLAN, 0);
            Client client = clients.make(options -> options.publicKey(KEY).transport(transport));
            assertEquals(UNREACHABLE, summary(client.grant()));
        });
    }

    @TestFactory
    List<DynamicTest> aPageInPlaceOfTextsIsAFaultOfTheNetwork() {
        Map<?, ?> vectors = Clients.readVectors("good-texts");
        byte[] plan = bytes((String) vectors.get("plan"));
        String survey = "https://collector.example/v1/surveys/" + Clients.idOf(plan);
        return tests(pages(), page -> {
            AtomicReference<Transport.Response> texts = new AtomicReference<>(page);
            Client client = clients.make(survey, options -> options.transport((method, url, body, timeout) ->
                url.endsWith("/texts") ? texts.get() : new Transport.Response(200, plan, 0)));
            TransportException error = assertThrows(TransportException.class, client::texts);
            assertEquals("collector-unreachable", error.reason());
            texts.set(page(200, (String) vectors.get("texts")));
            assertFalse(client.texts().language().isEmpty());
        });
    }

    @TestFactory
    List<DynamicTest> aPageInPlaceOfTheAnswerToAReportIsNoDelivery() {
        Map<String, Transport.Response> pages = pages();
        pages.remove("JSON of a report"); // it is the answer
        return tests(pages, page -> {
            Clients own = new Clients();
            Client client = own.make(options -> options.transport((method, url, body, timeout) ->
                body == null ? new Transport.Response(200, PLAN, 0) : page));
            client.grant();
            client.report(ROW, LABEL);
            assertEquals("queued collector-unreachable", summary(Clients.attempted(client)));
            own.close();
        });
    }

    @Test
    void aPlanThatIsNotValidOrNotThePinnedOneIsRejected() {
        for (byte[] plan : Arrays.asList(Clients.changed(PLAN, "format", 2L), bytes(TEXT + "\n"))) {
            Transport transport = (method, url, body, timeout) -> new Transport.Response(200, plan, 0);
            Client client = clients.make(options -> options.transport(transport));
            assertEquals("rejected invalid-plan", summary(client.grant()));
        }
        Client client = clients.make(options -> options.digest(String.format("%064d", 0)));
        assertEquals("rejected plan-changed", summary(client.grant()));
    }

    private interface Check {
        void on(Transport.Response page) throws Exception;
    }

    private static List<DynamicTest> tests(Map<String, Transport.Response> pages, Check check) {
        List<DynamicTest> tests = new ArrayList<>();
        pages.forEach((name, page) -> tests.add(DynamicTest.dynamicTest(name, () -> check.on(page))));
        return tests;
    }
}
