package ldpbayes.relay;

import static ldpbayes.SurveyException.requireValid;

import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.KeyAgreement;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import ldpbayes.Bytes;
import ldpbayes.LdpException;
import ldpbayes.Reason;
import ldpbayes.SurveyException;

/**
 * HPKE (RFC 9180): base mode, one message per key pair, no additional data.
 *
 * <p>The only suite is DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and AES-128-GCM. The platform provides X25519
 * from Java 11 and from Android 13 on, under the name of both curves of RFC 7748.
 */
final class Hpke {
    static final String CURVE = "XDH";
    /** What X.509 writes before the 32 bytes of a public key of X25519 (RFC 8410). */
    private static final byte[] PREFIX = {0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x6e, 3, 0x21, 0};
    private static final byte[] KEM_SUITE = {'K', 'E', 'M', 0, 0x20};
    private static final byte[] SUITE = {'H', 'P', 'K', 'E', 0, 0x20, 0, 1, 0, 1};
    private static final byte[] NONE = {};

    private Hpke() {
    }

    /**
     * Returns a new key pair for one message.
     *
     * @throws LdpException if the platform lacks X25519
     */
    static KeyPair makeKeyPair() {
        try {
            return KeyPairGenerator.getInstance(CURVE).generateKeyPair();
        } catch (GeneralSecurityException error) {
            throw unsupported();
        }
    }

    /**
     * Returns the public key of a new key pair, 32 bytes, and the encrypted text, 16 bytes longer than the
     * text.
     *
     * @param publicKey of the recipient, 32 bytes
     * @param keyPair a new one for each message
     * @throws SurveyException if the recipient's public key has a low order
     * @throws LdpException if the platform lacks X25519
     */
    static byte[] sealTo(byte[] publicKey, KeyPair keyPair, byte[] info, byte[] plaintext) {
        byte[] encoded = keyPair.getPublic().getEncoded();
        byte[] enc = Arrays.copyOfRange(encoded, PREFIX.length, encoded.length);
        try {
            byte[] agreed = extract(KEM_SUITE, NONE, "eae_prk", agree(publicKey, keyPair.getPrivate()));
            byte[] keys = Bytes.concatenate(enc, publicKey);
            byte[] shared = expand(KEM_SUITE, agreed, "shared_secret", keys, 32);
            byte[] context = Bytes.concatenate(new byte[1], extract(SUITE, NONE, "psk_id_hash", NONE),
                extract(SUITE, NONE, "info_hash", info));
            byte[] secret = extract(SUITE, shared, "secret", NONE);
            Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
            cipher.init(Cipher.ENCRYPT_MODE,
                new SecretKeySpec(expand(SUITE, secret, "key", context, 16), "AES"),
                new GCMParameterSpec(128, expand(SUITE, secret, "base_nonce", context, 12)));
            return Bytes.concatenate(enc, cipher.doFinal(plaintext));
        } catch (InvalidKeyException | InvalidKeySpecException error) {
            throw new SurveyException(); // a point of low order gives a secret that everybody knows
        } catch (GeneralSecurityException error) {
            throw unsupported();
        }
    }

    private static byte[] agree(byte[] publicKey, PrivateKey privateKey) throws GeneralSecurityException {
        byte[] encoded = Bytes.concatenate(PREFIX, publicKey);
        PublicKey read = KeyFactory.getInstance(CURVE).generatePublic(new X509EncodedKeySpec(encoded));
        KeyAgreement agreement = KeyAgreement.getInstance(CURVE);
        agreement.init(privateKey);
        agreement.doPhase(read, true);
        byte[] secret = agreement.generateSecret();
        requireValid(!Arrays.equals(secret, new byte[secret.length])); // not every platform refuses it
        return secret;
    }

    /** LabeledExtract of RFC 9180, section 4. */
    private static byte[] extract(byte[] suite, byte[] salt, String label, byte[] material)
        throws GeneralSecurityException {
        // a key must not be empty; HMAC fills a key with zeros, so one zero is the same key
        byte[] key = salt.length == 0 ? new byte[1] : salt;
        return hmac(key, Bytes.fromText("HPKE-v1"), suite, Bytes.fromText(label), material);
    }

    /** LabeledExpand of RFC 9180, section 4, of at most 32 bytes: one block of HKDF is enough. */
    private static byte[] expand(byte[] suite, byte[] secret, String label, byte[] info, int length)
        throws GeneralSecurityException {
        byte[] head = Bytes.concatenate(new byte[] {0, (byte) length}, Bytes.fromText("HPKE-v1"), suite);
        byte[] block = hmac(secret, head, Bytes.fromText(label), info, new byte[] {1});
        return Arrays.copyOf(block, length);
    }

    private static byte[] hmac(byte[] key, byte[]... parts) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(Bytes.concatenate(parts));
    }

    private static LdpException unsupported() {
        return new LdpException("this platform has no X25519, so it cannot seal reports for a relay",
            Reason.RELAY_UNSUPPORTED);
    }
}
