package ldpbayes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.Base64;
import ldpbayes.survey.Plan;
import org.junit.jupiter.api.Test;

/** A plan has one signature of a key; everything that the key did not sign is refused. */
class Ed25519Test {
    /** Public key, message and signature of RFC 8032, section 7.1: tests 1, 2, 3 and SHA(abc). */
    private static final String[][] VECTORS = {
        {
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b",
        },
        {
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                + "387b2eaeb4302aeeb00d291612bb0c00",
        },
        {
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a",
        },
        {
            "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd"
                + "454d4423643ce80e2a9ac94fa54ca49f",
            "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e030"
                + "3dca179c138ac17ad9bef1177331a704",
        },
    };
    private static final String KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";
    /** Of the plan of good-de.json, as in the tests of the other clients. */
    private static final String SIGNATURE =
        "kBFWy+i39Q69H2tgQ9UCcfLMiCKrgw9dq7Z46nHePnvlcNOz9/uWEqn7Zpk1lJC3FwQimjEOcfKSqT1ON70cAw==";
    private static final BigInteger ORDER =
        BigInteger.ONE.shiftLeft(252).add(new BigInteger("27742317777372353535851937790883648493"));

    @Test
    void theVectorsOfTheStandardAreAcceptedAndEachChangedBitIsRefused() {
        for (String[] vector : VECTORS) {
            byte[] key = Answer.fromHex(vector[0]);
            byte[] message = Answer.fromHex(vector[1]);
            byte[] signature = Answer.fromHex(vector[2]);
            assertTrue(Ed25519.verify(key, message, signature));
            for (int bit = 0; bit < 512; bit += 5) {
                assertFalse(Ed25519.verify(key, message, flip(signature, bit)));
                assertFalse(Ed25519.verify(flip(key, bit / 2), message, signature));
            }
            assertFalse(Ed25519.verify(key, Bytes.concatenate(message, new byte[1]), signature));
        }
    }

    private static byte[] flip(byte[] bytes, int bit) {
        byte[] flipped = bytes.clone();
        flipped[bit / 8] ^= (byte) (1 << bit % 8);
        return flipped;
    }

    @Test
    void thePlanOfTheOtherClientsTestsIsSigned() {
        Plan plan = Answer.readPlan("good-de");
        assertEquals("9edc0fe6440526e899ec907adad8fb0ecd17b613f27fb2a2566665277dca9430", plan.digest());
        byte[] message = Bytes.concatenate(Bytes.fromText("ldp-bayes plan v1\0"), plan.digestBytes());
        byte[] key = Base64.getDecoder().decode(KEY);
        byte[] signature = Base64.getDecoder().decode(SIGNATURE);
        assertTrue(Ed25519.verify(key, message, signature));
        byte[][] others = {
            plan.digestBytes(), Bytes.concatenate(Bytes.fromText("ldp-bayes plan v2\0"), plan.digestBytes()),
        };
        for (byte[] other : others) {
            assertFalse(Ed25519.verify(key, other, signature));
        }
        byte[] otherKey = Answer.fromHex(VECTORS[1][0]);
        assertFalse(Ed25519.verify(otherKey, message, signature));
    }

    @Test
    void aScalarThatIsNotReducedIsRefused() {
        // S + L satisfies the equation too
        byte[] key = Answer.fromHex(VECTORS[0][0]);
        byte[] signature = Answer.fromHex(VECTORS[0][2]);
        for (int times = 1; times < 16; times++) {
            byte[] reversed = new byte[32];
            for (int i = 0; i < 32; i++) {
                reversed[i] = signature[63 - i];
            }
            BigInteger large = new BigInteger(1, reversed).add(ORDER.multiply(BigInteger.valueOf(times)));
            byte[] changed = signature.clone();
            for (int i = 0; i < 32; i++) {
                changed[32 + i] = large.shiftRight(8 * i).byteValue();
            }
            assertFalse(Ed25519.verify(key, new byte[0], changed));
        }
    }

    @Test
    void aPointThatIsNotReducedOrDoesNotExistIsRefused() {
        byte[] zeros = new byte[64];
        String[] keys = {
            // y = p, p + 1 (another spelling of 1, the neutral point) and 2^255 - 1
            "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            // x = 0 with a sign, for y = 1 and y = -1
            "0100000000000000000000000000000000000000000000000000000000000080",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
            // no point has y = 2
            "0200000000000000000000000000000000000000000000000000000000000000",
        };
        for (String key : keys) {
            byte[] signature = zeros.clone();
            signature[0] = 1; // the neutral point and S = 0 fit every key of low order
            assertFalse(Ed25519.verify(Answer.fromHex(key), new byte[0], signature), key);
        }
        byte[] key = Answer.fromHex(VECTORS[0][0]);
        byte[] signature = Answer.fromHex(VECTORS[0][2]);
        byte[] otherR = Answer.fromHex(keys[1]);
        System.arraycopy(otherR, 0, signature, 0, 32);
        assertFalse(Ed25519.verify(key, new byte[0], signature));
    }

    @Test
    void aKeyOfLowOrderFitsNoSignature() {
        String[] keys = {
            "0100000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000080",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        };
        for (String key : keys) {
            for (int message = 0; message < 8; message++) {
                byte[] signature = new byte[64];
                signature[0] = 1;
                assertFalse(Ed25519.verify(Answer.fromHex(key), new byte[] {(byte) message}, signature), key);
            }
        }
    }

    @Test
    void keysAndSignaturesOfAnotherLengthAreRefused() {
        byte[] key = Answer.fromHex(VECTORS[0][0]);
        byte[] signature = Answer.fromHex(VECTORS[0][2]);
        for (int length : new int[] {0, 31, 33, 63, 65}) {
            assertFalse(Ed25519.verify(Arrays.copyOf(key, length), new byte[0], signature));
            assertFalse(Ed25519.verify(key, new byte[0], Arrays.copyOf(signature, length)));
        }
    }
}
