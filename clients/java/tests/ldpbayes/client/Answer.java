package ldpbayes.client;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import ldpbayes.Json;
import ldpbayes.RandomSource;

/**
 * Answers one survey from the command line, and prints each receipt as one line of JSON; for tests.
 *
 * <p>{@code java ldpbayes.client.Answer URL FOLDER ROW [OPTION=VALUE ...]}: the survey's URL, the folder of
 * the journal, and the row as a JSON object. Options: {@code label}, {@code person}, {@code token}, {@code
 * digest}, {@code publicKey}, {@code relay}, {@code maxLocalEpsilon}, {@code maxEpsilon} (by default 100),
 * {@code maxTotalEpsilon}, {@code spread} (0), {@code timeout} of flush and close (30), {@code background}
 * (true), {@code plan} (a file), {@code calls} (by default {@code grant,report,flush,close}; also {@code
 * status}, {@code withdraw}), {@code wait} (true: reads a line of standard input before the calls), and
 * {@code halt}: ends the process at once {@code in-draw}, {@code before-post} or {@code after-post};
 * {@code server}: an origin that gets all requests, in place of the URL's.
 */
public final class Answer {
    private final Map<String, String> settings = new LinkedHashMap<>();

    private Answer(String[] arguments) {
        for (int i = 3; i < arguments.length; i++) {
            int end = arguments[i].indexOf('=');
            settings.put(arguments[i].substring(0, end), arguments[i].substring(end + 1));
        }
    }

    /** Runs the calls. */
    public static void main(String[] arguments) throws IOException {
        new Answer(arguments).run(arguments[0], new File(arguments[1]), arguments[2]);
    }

    @SuppressWarnings("unchecked")
    private void run(String url, File folder, String row) throws IOException {
        byte[] plan = settings.containsKey("plan")
            ? Files.readAllBytes(new File(settings.get("plan")).toPath()) : null;
        Client client = new Client(plan, url, options(folder));
        double timeout = Double.parseDouble(settings.getOrDefault("timeout", "30"));
        if (settings.containsKey("wait")) {
            System.out.println("waits");
            System.in.read();
        }
        for (String call : settings.getOrDefault("calls", "grant,report,flush,close").split(",")) {
            Receipt receipt = call.equals("grant") ? client.grant()
                : call.equals("report")
                    ? client.report((Map<String, ?>) Json.parse(row), settings.get("label"))
                : call.equals("flush") ? client.flush(timeout)
                : call.equals("withdraw") ? client.withdraw()
                : client.status();
            if (call.equals("close")) client.close(timeout);
            print(call, call.equals("close") ? client.status() : receipt);
        }
    }

    private ClientOptions options(File folder) {
        ClientOptions options = new ClientOptions().journal(folder).person(settings.get("person"))
            .token(settings.get("token"))
            .maxEpsilon(Double.parseDouble(settings.getOrDefault("maxEpsilon", "100")))
            .spread(Double.parseDouble(settings.getOrDefault("spread", "0")))
            .background(!"false".equals(settings.get("background")))
            .random(count -> {
                if (count == 16) halt("in-draw");
                return RandomSource.SYSTEM.take(count);
            })
            .transport(this::request);
        if (settings.containsKey("digest")) options.digest(settings.get("digest"));
        if (settings.containsKey("relay")) options.relay(settings.get("relay"));
        if (settings.containsKey("maxLocalEpsilon")) {
            options.maxLocalEpsilon(Double.parseDouble(settings.get("maxLocalEpsilon")));
        }
        if (settings.containsKey("publicKey")) options.publicKey(settings.get("publicKey"));
        if (settings.containsKey("maxTotalEpsilon")) {
            options.maxTotalEpsilon(Double.parseDouble(settings.get("maxTotalEpsilon")));
        }
        return options;
    }

    private Transport.Response request(String method, String url, byte[] body,
        double timeout) throws IOException {
        if (body != null) halt("before-post");
        String server = settings.getOrDefault("server", "");
        String address = server.isEmpty() ? url : url.replaceFirst("^https?://[^/]*", server);
        Transport.Response response = new HttpTransport().request(method, address, body, timeout);
        if (body != null) halt("after-post");
        return response;
    }

    private void halt(String place) {
        if (place.equals(settings.get("halt"))) Runtime.getRuntime().halt(137);
    }

    private static void print(String call, Receipt receipt) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("call", call);
        line.put("state", receipt.state().toString());
        line.put("reason", receipt.reason());
        line.put("survey", receipt.survey());
        line.put("epsilon", String.valueOf(receipt.epsilon()));
        line.put("field", receipt.field());
        line.put("why", receipt.why());
        line.put("clipped", new ArrayList<Object>(receipt.clipped()));
        List<Object> problems = new ArrayList<>();
        receipt.problems().forEach(each -> problems.add(each.field()));
        line.put("problems", problems);
        System.out.println(Json.write(line));
        System.out.flush();
    }
}
