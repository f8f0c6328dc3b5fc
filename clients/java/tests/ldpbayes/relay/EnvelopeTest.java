package ldpbayes.relay;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.Security;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import javax.crypto.KeyAgreement;
import ldpbayes.Answer;
import ldpbayes.Bytes;
import ldpbayes.Json;
import ldpbayes.LdpException;
import ldpbayes.SurveyException;
import ldpbayes.survey.CodedRow;
import ldpbayes.survey.Invitation;
import ldpbayes.survey.Plan;
import ldpbayes.survey.RandomisedReport;
import ldpbayes.survey.Randomise;
import ldpbayes.survey.Waves;
import org.junit.jupiter.api.Test;

/** Envelopes, from the row to the sealed bytes. */
class EnvelopeTest {
    private static final Map<?, ?> VECTORS = Answer.readVectors("envelopes");
    private static final byte[] NONE = {};

    @Test
    void everyEnvelopeOfTheVectorsFollowsFromRowRandomBytesAndKeys() throws GeneralSecurityException {
        List<Object> surveys = new ArrayList<>(list(VECTORS, "surveys"));
        if (VECTORS.containsKey("waves")) {
            surveys.addAll(list(VECTORS, "waves"));
        }
        for (Object survey : surveys) {
            Plan plan = Relay.readPlan(Bytes.fromText((String) ((Map<?, ?>) survey).get("plan")));
            for (Object each : list(survey, "cases")) {
                Map<?, ?> known = (Map<?, ?>) each;
                CodedRow coded = plan.encode(
                    Answer.rowOf(known.get("row")), Answer.valueOf(known.get("label")));
                Answer.GivenBytes random = new Answer.GivenBytes((String) known.get("random"));
                List<byte[]> reports = new ArrayList<>();
                List<Object> digits = new ArrayList<>();
                Long index = (Long) known.get("wave");
                Waves.Wave wave = index == null ? null : plan.waves().list().get(index.intValue());
                Invitation asked = Invitation.inWave(null, wave);
                for (RandomisedReport made : Randomise.randomiseAll(plan, coded, random, asked)) {
                    reports.add(made.report());
                    digits.add(Bytes.toHex(made.report()));
                }
                assertEquals(list(known, "reports"), digits);
                assertThrows(RuntimeException.class, () -> random.take(1));
                List<KeyPair> keys = new ArrayList<>();
                for (Object key : list(known, "ephemeral_keys")) {
                    keys.add(keyPair(Answer.fromHex((String) key)));
                }
                Iterator<KeyPair> left = keys.iterator();
                byte[] code = Answer.fromHex((String) known.get("code"));
                byte[] envelope = Envelope.seal(plan, reports, code, wave, left::next);
                assertEquals(known.get("envelope"), Bytes.toHex(envelope));
                assertFalse(left.hasNext());
                assertEquals(Envelope.size(plan) - 16 + code.length, envelope.length);
                byte[] again = Envelope.seal(plan, reports, code, wave);
                assertEquals(envelope.length, again.length);
                assertFalse(Arrays.equals(envelope, again), "keys are used twice");
            }
        }
    }

    @Test
    void reportsOfAnotherNumberOrLengthAndOtherCodesAreRefused() {
        Plan plan = plan();
        List<byte[]> reports = Collections.nCopies(plan.questions().size(), NONE);
        Envelope.seal(plan, reports, NONE, null);
        assertError("error", plan, reports.subList(1, reports.size()), NONE);
        assertError("error", plan, reports, new byte[15]);
        List<byte[]> longer = new ArrayList<>(reports);
        longer.set(0, new byte[Envelope.columns(plan).get(0) + 1]);
        assertError("error", plan, longer, NONE);
    }

    @Test
    void theOuterSealOfAWaveEndsWithItsIndexAndTheInnerOnesDoNot() throws GeneralSecurityException {
        Plan plan = Relay.readPlan(withWaves(0, 0));
        Relay relay = Relay.of(plan);
        Waves.Wave wave = plan.waves().list().get(1);
        KeyPair key = keyPair(Arrays.copyOf(new byte[] {1}, 32));
        List<Integer> columns = Envelope.columns(plan);
        byte[] content = {};
        for (int longest : columns) {
            content = Bytes.concatenate(content, new byte[] {relay.collectorKey[0]}, Hpke.sealTo(
                Arrays.copyOfRange(relay.collectorKey, 3, 35), key,
                Bytes.concatenate(Bytes.fromText("ldp-bayes report\0"), plan.digestBytes()),
                new byte[2 + longest]));
        }
        byte[] info = Bytes.concatenate(
            Bytes.fromText("ldp-bayes relay\0"), plan.digestBytes(), new byte[] {0, 1});
        byte[] expected = Bytes.concatenate(new byte[] {relay.relayKey[0]},
            Hpke.sealTo(Arrays.copyOfRange(relay.relayKey, 3, 35), key, info, content));
        List<byte[]> reports = Collections.nCopies(columns.size(), NONE);
        assertArrayEquals(expected, Envelope.seal(plan, reports, NONE, wave, () -> key));
        assertThrows(LdpException.class, () -> Envelope.seal(plan, reports, NONE, null));
        assertThrows(LdpException.class, () -> Envelope.seal(plan(), reports, NONE, wave));
    }

    /** Returns a plan with two waves, whose relay opens and closes some seconds later than they do. */
    static byte[] withWaves(long opens, long closes) {
        Object survey = list(VECTORS, "surveys").get(0);
        Map<?, ?> document = (Map<?, ?>) Json.parse((String) ((Map<?, ?>) survey).get("plan"));
        Map<?, ?> relay = (Map<?, ?>) document.get("relay");
        long first = (Long) relay.get("opens") - opens;
        long last = (Long) relay.get("closes") - closes;
        String waves = ",\"waves\":{\"assign\":\"drawn\",\"list\":[{\"closes\":" + (first + 1)
            + ",\"name\":\"a\",\"opens\":" + first + "},{\"closes\":" + last + ",\"name\":\"b\",\"opens\":"
            + (first + 1) + "}]}}";
        String text = Json.write(document);
        return Bytes.fromText(text.substring(0, text.length() - 1) + waves);
    }

    @Test
    void aPublicKeyOfLowOrderIsRefused() {
        for (String point : new String[] {
            "00", "01", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"}) {
            byte[] key = Arrays.copyOf(Answer.fromHex(point), 32);
            assertThrows(
                SurveyException.class, () -> Hpke.sealTo(key, Hpke.makeKeyPair(), NONE, NONE), point);
        }
    }

    @Test
    void aPlatformWithoutTheCurveSaysSo() {
        List<Provider> removed = new ArrayList<>();
        for (Provider each : Security.getProviders()) {
            if (each.getService("KeyPairGenerator", Hpke.CURVE) != null) {
                removed.add(each);
            }
        }
        Plan plan = plan();
        try {
            removed.forEach(each -> Security.removeProvider(each.getName()));
            assertError(
                "relay-unsupported", plan, Collections.nCopies(plan.questions().size(), NONE), NONE);
        } finally {
            removed.forEach(Security::addProvider);
        }
        assertTrue(removed.size() > 0);
    }

    private static void assertError(String reason, Plan plan, List<byte[]> reports, byte[] code) {
        LdpException error = assertThrows(LdpException.class, () -> Envelope.seal(plan, reports, code, null));
        assertEquals(reason, error.reason());
    }

    private static Plan plan() {
        Object survey = list(VECTORS, "surveys").get(0);
        return Relay.readPlan(Bytes.fromText((String) ((Map<?, ?>) survey).get("plan")));
    }

    private static List<?> list(Object object, String name) {
        return (List<?>) ((Map<?, ?>) object).get(name);
    }

    /** Returns the key pair of a private key; the public key is its product with the point 9. */
    private static KeyPair keyPair(byte[] key) throws GeneralSecurityException {
        KeyFactory factory = KeyFactory.getInstance(Hpke.CURVE);
        byte[] encoded = Bytes.concatenate(Answer.fromHex("302e020100300506032b656e04220420"), key);
        PrivateKey secret = factory.generatePrivate(new PKCS8EncodedKeySpec(encoded));
        KeyAgreement agreement = KeyAgreement.getInstance(Hpke.CURVE);
        agreement.init(secret);
        agreement.doPhase(publicKey(factory, Arrays.copyOf(new byte[] {9}, 32)), true);
        byte[] product = agreement.generateSecret();
        assertArrayEquals(product, Arrays.copyOf(product, 32));
        return new KeyPair(publicKey(factory, product), secret);
    }

    private static java.security.PublicKey publicKey(KeyFactory factory, byte[] key)
        throws GeneralSecurityException {
        byte[] encoded = Bytes.concatenate(Answer.fromHex("302a300506032b656e032100"), key);
        return factory.generatePublic(new X509EncodedKeySpec(encoded));
    }
}
