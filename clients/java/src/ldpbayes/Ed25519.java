package ldpbayes;

import java.math.BigInteger;
import java.util.Arrays;

/**
 * Verifies Ed25519 signatures (RFC 8032, the pure variant).
 *
 * <p>Key, message and signature are public, so the time may depend on them. Each has one valid encoding: a
 * number that is not reduced is refused. The platform verifies Ed25519 only from Java 15 and Android 33 on.
 */
public final class Ed25519 {
    private static final BigInteger TWO = BigInteger.valueOf(2);
    /** The prime 2^255 - 19. */
    private static final BigInteger P = BigInteger.ONE.shiftLeft(255).subtract(BigInteger.valueOf(19));
    /** The order of the base point. */
    private static final BigInteger ORDER =
        BigInteger.ONE.shiftLeft(252).add(new BigInteger("27742317777372353535851937790883648493"));
    private static final BigInteger D =
        BigInteger.valueOf(-121665).multiply(BigInteger.valueOf(121666).modInverse(P)).mod(P);
    private static final BigInteger ROOT_OF_MINUS_ONE =
        TWO.modPow(P.subtract(BigInteger.ONE).shiftRight(2), P);
    private static final int KEY_BYTES = 32;

    private Ed25519() {
    }

    /**
     * Returns whether a signature of a message was made with the private half of a key.
     *
     * @param publicKey 32 bytes
     * @param message any bytes
     * @param signature 64 bytes
     * @return false, too, if the key or the signature is malformed
     */
    public static boolean verify(byte[] publicKey, byte[] message, byte[] signature) {
        if (publicKey.length != KEY_BYTES || signature.length != 2 * KEY_BYTES) {
            return false;
        }
        byte[] r = Arrays.copyOf(signature, KEY_BYTES);
        BigInteger s = fromLittleEndian(Arrays.copyOfRange(signature, KEY_BYTES, 2 * KEY_BYTES));
        BigInteger[] key = decode(publicKey);
        if (key == null || isOfLowOrder(key) || s.compareTo(ORDER) >= 0) {
            return false;
        }
        byte[] hash = Bytes.digest("SHA-512", r, publicKey, message);
        BigInteger h = fromLittleEndian(hash).mod(ORDER);
        BigInteger[] base = decode(toLittleEndian(
            BigInteger.valueOf(4).multiply(BigInteger.valueOf(5).modInverse(P)).mod(P)));
        BigInteger[] minusKey = {P.subtract(key[0]), key[1], BigInteger.ONE, P.subtract(key[3])};
        // R has one encoding too, so it is compared as bytes
        return Arrays.equals(r, encode(addMultiples(s, base, h, minusKey)));
    }

    /**
     * Returns one * point + other * q, bit by bit for both. Points are X, Y, Z, T with x = X/Z, y = Y/Z, xy =
     * T/Z.
     */
    private static BigInteger[] addMultiples(
        BigInteger one, BigInteger[] point, BigInteger other, BigInteger[] q) {
        BigInteger[] both = add(point, q);
        BigInteger[] sum = {BigInteger.ZERO, BigInteger.ONE, BigInteger.ONE, BigInteger.ZERO};
        for (int bit = ORDER.bitLength() - 1; bit >= 0; bit--) {
            sum = add(sum, sum);
            if (one.testBit(bit)) {
                sum = add(sum, other.testBit(bit) ? both : point);
            } else if (other.testBit(bit)) {
                sum = add(sum, q);
            }
        }
        return sum;
    }

    /**
     * Returns whether eight times a point is the neutral point: such a key fits signatures that anybody can
     * make.
     */
    private static boolean isOfLowOrder(BigInteger[] point) {
        BigInteger[] twice = add(point, point);
        BigInteger[] four = add(twice, twice);
        BigInteger[] eight = add(four, four);
        return eight[0].signum() == 0 && eight[1].equals(eight[2]);
    }

    /** Adds two points, which may be equal (RFC 8032, section 5.1.4). */
    private static BigInteger[] add(BigInteger[] one, BigInteger[] other) {
        BigInteger a = one[1].subtract(one[0]).multiply(other[1].subtract(other[0])).mod(P);
        BigInteger b = one[1].add(one[0]).multiply(other[1].add(other[0])).mod(P);
        BigInteger c = one[3].multiply(other[3]).mod(P).multiply(D).mod(P).shiftLeft(1);
        BigInteger d = one[2].multiply(other[2]).shiftLeft(1).mod(P);
        BigInteger e = b.subtract(a);
        BigInteger f = d.subtract(c);
        BigInteger g = d.add(c);
        BigInteger h = b.add(a);
        return new BigInteger[] {
            e.multiply(f).mod(P), g.multiply(h).mod(P), f.multiply(g).mod(P), e.multiply(h).mod(P),
        };
    }

    /** Returns the point that 32 bytes encode (RFC 8032, section 5.1.3), or null if they encode none. */
    private static BigInteger[] decode(byte[] bytes) {
        BigInteger coded = fromLittleEndian(bytes);
        BigInteger y = coded.clearBit(255);
        if (y.compareTo(P) >= 0) {
            return null;
        }
        BigInteger square = y.multiply(y).mod(P);
        BigInteger u = square.subtract(BigInteger.ONE).mod(P);
        BigInteger v = D.multiply(square).add(BigInteger.ONE).mod(P);
        BigInteger wanted = u.multiply(v.modInverse(P)).mod(P);
        BigInteger x = wanted.modPow(P.add(BigInteger.valueOf(3)).shiftRight(3), P);
        if (!x.multiply(x).mod(P).equals(wanted)) {
            x = x.multiply(ROOT_OF_MINUS_ONE).mod(P);
        }
        if (!x.multiply(x).mod(P).equals(wanted) || x.signum() == 0 && coded.testBit(255)) {
            return null;
        }
        if (x.testBit(0) != coded.testBit(255)) {
            x = P.subtract(x);
        }
        return new BigInteger[] {x, y, BigInteger.ONE, x.multiply(y).mod(P)};
    }

    private static byte[] encode(BigInteger[] point) {
        BigInteger inverse = point[2].modInverse(P);
        BigInteger x = point[0].multiply(inverse).mod(P);
        BigInteger y = point[1].multiply(inverse).mod(P);
        return toLittleEndian(x.testBit(0) ? y.setBit(255) : y);
    }

    private static BigInteger fromLittleEndian(byte[] bytes) {
        byte[] reversed = new byte[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            reversed[i] = bytes[bytes.length - 1 - i];
        }
        return new BigInteger(1, reversed);
    }

    private static byte[] toLittleEndian(BigInteger number) {
        byte[] bytes = new byte[KEY_BYTES];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = number.shiftRight(8 * i).byteValue();
        }
        return bytes;
    }
}
