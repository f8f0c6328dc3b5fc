package ldpbayes;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Words, fractions, decimals and JSON are exact. */
class ArithmeticTest {
    private static final long[] WORDS = {
        0, 1, 2, 0x7fffffffL, 0x80000000L, 0xffffffffL, 0x100000000L, Long.MAX_VALUE, Long.MIN_VALUE,
        Long.MIN_VALUE + 1, -2, -1,
    };

    @Test
    void wordsAreUnsigned() {
        Random random = new Random(1);
        for (int i = 0; i < 10_000; i++) {
            long one = i < 144 ? WORDS[i / 12] : random.nextLong();
            long other = i < 144 ? WORDS[i % 12] : random.nextLong() >>> random.nextInt(64);
            BigInteger product =
                ProbabilityTables.toInteger(one).multiply(ProbabilityTables.toInteger(other));
            assertEquals(product.shiftRight(64).longValue(), ProbabilityTables.multiplyHigh(one, other));
            int isBelow = Long.compareUnsigned(one, other) < 0 ? 1 : 0;
            assertEquals(isBelow, ProbabilityTables.isBelow(one, other));
            assertEquals(0, ProbabilityTables.isBelow(one, one));
        }
        long[] limits = {1, Long.MAX_VALUE, Long.MIN_VALUE, -1};
        long[] draws = {0, 1, Long.MAX_VALUE - 1, Long.MAX_VALUE, Long.MIN_VALUE, -2, -1};
        int[] counts = new int[draws.length];
        for (int i = 0; i < draws.length; i++) {
            counts[i] = ProbabilityTables.countUpTo(limits, draws[i]);
        }
        assertArrayEquals(new int[] {0, 1, 1, 2, 3, 3, 4}, counts);
    }

    @Test
    void theGreatestRatioIsFoundExactly() {
        Random random = new Random(2);
        for (int i = 0; i < 1000; i++) {
            long[] numerators = new long[5];
            long[] denominators = new long[5];
            for (int j = 0; j < 5; j++) {
                numerators[j] = random.nextLong() | 1;
                denominators[j] = random.nextLong() | 1;
            }
            Fraction found = ProbabilityTables.greatestRatio(numerators, denominators);
            for (int j = 0; j < 5; j++) {
                Fraction each = new Fraction(
                    ProbabilityTables.toInteger(numerators[j]), ProbabilityTables.toInteger(denominators[j]));
                assertFalse(each.isGreaterThan(found));
            }
        }
    }

    @Test
    void aFractionIsRoundedToTheNearestDouble() {
        Random random = new Random(3);
        for (int i = 0; i < 1000; i++) {
            BigInteger numerator = new BigInteger(60, random).add(BigInteger.ONE);
            BigInteger denominator = new BigInteger(1 + random.nextInt(60), random).add(BigInteger.ONE);
            double expected = new BigDecimal(numerator)
                .divide(new BigDecimal(denominator), new MathContext(80)).doubleValue();
            assertEquals(expected, new Fraction(numerator, denominator).nearestDouble());
        }
    }

    @Test
    void aDecimalHasOneSpelling() {
        for (String text : new String[] {"0", "1", "-1", "0.5", "-0.25", "10", "1200.001", "0.0001"}) {
            assertTrue(Decimals.isDecimal(text), text);
            Fraction parsed = Decimals.parse(text);
            assertEquals(
                0, new BigDecimal(parsed.numerator()).divide(new BigDecimal(parsed.denominator()))
                    .compareTo(new BigDecimal(text)));
        }
        Object[] wrong = {
            "", "-", "-0", "+1", "01", "00", "1.", ".5", "0.50", "-.5", "1e3", "1 ", " 1", "0x1", "1_0",
            "--1", "1.2.3", "\u0661", "Infinity", "NaN", 1L, null, "1,5", "-0.0",
        };
        for (Object text : wrong) {
            assertFalse(Decimals.isDecimal(text), String.valueOf(text));
            assertThrows(SurveyException.class, () -> Decimals.parse(text));
        }
        char[] digits = new char[1001];
        Arrays.fill(digits, '7');
        assertFalse(Decimals.isDecimal(new String(digits)));
        assertTrue(Decimals.isDecimal("0.000" + new String(digits, 0, 1000)));
    }

    @Test
    void theLowerBoundOfAPowerOfEHasMoreThan60Digits() {
        BigDecimal e = new BigDecimal(
            "2.718281828459045235360287471352662497757247093699959574966967627724076630353");
        Fraction bound = EpsilonProof.expLowerBound(Decimals.parse("1"));
        BigDecimal found = new BigDecimal(bound.numerator()).divide(new BigDecimal(bound.denominator()));
        assertTrue(e.subtract(found).abs().compareTo(new BigDecimal("1e-70")) < 0);
    }

    @Test
    void jsonIsReadStrictly() {
        String text = "{\"a\":[1,-2,null,true,false],\"b\":{},"
            + "\"c\":\"\\\"\\\\\\b\\t\\n\\f\\r\\u0001\u007f\u00e9\ud83d\ude42/\"}";
        assertEquals(text, Json.write(Json.parse(text)));
        String spaced = " " + text.replace(",", "\t, \r\n").replace(":", " : ") + " ";
        assertEquals(text, Json.write(Json.parse(spaced)));
        assertEquals(Arrays.asList(1L, 1.0, 1e22, -0.5, 9.223372036854775807e18), Json.parse(
            "[1, 1.0, 1e22, -0.5, 9223372036854775808]"));
        assertEquals("/A\ud800", Json.parse("\"\\/\\u0041\\uD800\""));
        String[] wrong = {
            "", " ", "{", "[", "[1,]", "[,1]", "[1 2]", "[1]]", "[\"a\":1]", "1 2",
            "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "{\"a\":1}}", "{\"a\":1,\"a\":2}",
            "01", "-", "1.", ".1", "1e", "+1", "0x1", "NaN", "tru", "nulls", "\u00a01", "// a", "'a'",
            "\"", "\"\n\"", "\"\\x\"", "\"\\u12\"", "\"\\u\uff11234\"",
        };
        for (String each : wrong) {
            assertThrows(IllegalArgumentException.class, () -> Json.parse(each), each);
        }
        assertThrows(IllegalArgumentException.class, () -> Json.write(1.5));
    }

    @Test
    void keysOfACanonicalTextAreSortedByCodePoint() {
        // in UTF-16 the first one is the greater one
        String sorted = "{\"\uff21\":1,\"\ud83d\ude00\":2}";
        assertEquals(2, ((Map<?, ?>) Json.parseCanonical(sorted)).size());
        String unsorted = "{\"\ud83d\ude00\":2,\"\uff21\":1}";
        assertThrows(IllegalArgumentException.class, () -> Json.parseCanonical(unsorted));
    }

    @Test
    void aTextIsCanonicalIfItIsWrittenAgainAsItIs() {
        String[] parts = {
            "{", "}", "[", "]", ":", ",", "\"a\"", "\"b\"", "1", "-", "0", ".", "e", " ", "null", "true",
            "\"\\n\"", "\"\\u000a\"", "\"\\u001f\"", "\"\\u001F\"", "\"\\/\"", "\"/\"", "\"\\\"\\\\\"",
            "\"\\u0041\"", "\"\\u00e9\"", "\"\u00e9\u007f\"", "\n", "\"\\t\"",
            "9223372036854775807", "9223372036854775808",
        };
        Random random = new Random(4);
        int canonical = 0; // different texts
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < 300_000; i++) {
            StringBuilder made = new StringBuilder(i % 2 == 0 ? "{\"a\":" : "[");
            for (int j = random.nextInt(5); j >= 0; j--) {
                made.append(parts[random.nextInt(parts.length)]);
            }
            String text = made.append(i % 2 == 0 ? "}" : "]").toString();
            if (!seen.add(text)) {
                continue;
            }
            boolean isSame;
            try {
                isSame = Json.write(Json.parse(text)).equals(text);
            } catch (IllegalArgumentException error) {
                isSame = false;
            }
            if (isSame) {
                canonical++;
                assertEquals(text, Json.write(Json.parseCanonical(text)));
            } else {
                assertThrows(IllegalArgumentException.class, () -> Json.parseCanonical(text), text);
            }
        }
        assertTrue(canonical > 180);
    }
}
