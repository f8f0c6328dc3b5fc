package ldpbayes;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/** Helpers for arrays of bytes: hexadecimal digits, texts, words, digests. */
public final class Bytes {
    private static final String DIGITS = "0123456789abcdef";

    private Bytes() {
    }

    /**
     * Returns bytes as hexadecimal digits in lower case.
     *
     * @param bytes any bytes
     * @return two digits per byte
     */
    public static String toHex(byte[] bytes) {
        char[] digits = new char[2 * bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            digits[2 * i] = DIGITS.charAt(bytes[i] >> 4 & 15);
            digits[2 * i + 1] = DIGITS.charAt(bytes[i] & 15);
        }
        return new String(digits);
    }

    /**
     * Returns the bytes of a text in UTF-8.
     *
     * @param text any text
     * @return the bytes
     */
    public static byte[] fromText(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Returns the text that bytes encode in UTF-8; throws IllegalArgumentException if they do not.
     *
     * @param bytes any bytes
     * @return the text
     */
    public static String toText(byte[] bytes) {
        String text = new String(bytes, StandardCharsets.UTF_8);
        if (!Arrays.equals(fromText(text), bytes)) {
            throw new IllegalArgumentException("not UTF-8");
        }
        return text;
    }

    /**
     * Returns several arrays of bytes as one.
     *
     * @param parts the arrays in their order
     * @return a new array
     */
    public static byte[] concatenate(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        byte[] whole = new byte[length];
        int end = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, whole, end, part.length);
            end += part.length;
        }
        return whole;
    }

    /**
     * Returns the SHA-256 of plans, texts and tokens, which are public or random, never of a value of a row.
     *
     * @param parts arrays of bytes, which are hashed as one
     * @return 32 bytes
     */
    public static byte[] sha256(byte[]... parts) {
        return digest("SHA-256", parts);
    }

    static byte[] digest(String algorithm, byte[]... parts) {
        try {
            return MessageDigest.getInstance(algorithm).digest(concatenate(parts));
        } catch (NoSuchAlgorithmException error) {
            throw new LdpException("the platform lacks SHA-2", Reason.INTERNAL_ERROR);
        }
    }

    /**
     * Returns the 64-bit word, little-endian, that begins at byte 8 * index.
     *
     * @param bytes the bytes of the words
     * @param index index of the word
     * @return the word
     */
    public static long readWord(byte[] bytes, int index) {
        long word = 0;
        for (int i = 8 * index + 7; i >= 8 * index; i--) {
            word = word << 8 | bytes[i] & 255;
        }
        return word;
    }

    /**
     * Returns the highest bits of the word with an index.
     *
     * @param bytes the bytes of the words
     * @param index index of the word
     * @param bits number of bits, 1 to 31
     * @return the bits
     */
    public static int readHighBits(byte[] bytes, int index, int bits) {
        return (int) (readWord(bytes, index) >>> 64 - bits);
    }

    /**
     * Returns an index as bytes, little-endian.
     *
     * @param index an index below 65536
     * @param count 1 or 2
     * @return as many bytes
     */
    public static byte[] fromIndex(int index, int count) {
        byte[] bytes = new byte[count];
        for (int i = 0; i < count; i++) {
            bytes[i] = (byte) (index >> 8 * i);
        }
        return bytes;
    }

    /**
     * Returns whole numbers as signed 16-bit integers, little-endian.
     *
     * @param numbers the numbers
     * @return two bytes per number
     */
    public static byte[] fromIntegers(int[] numbers) {
        byte[] bytes = new byte[2 * numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            bytes[2 * i] = (byte) numbers[i];
            bytes[2 * i + 1] = (byte) (numbers[i] >> 8);
        }
        return bytes;
    }
}
