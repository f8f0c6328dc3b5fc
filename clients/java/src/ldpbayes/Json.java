package ldpbayes;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Reads JSON strictly, and writes canonical JSON.
 *
 * <p>Values are {@code Map}, {@code List}, {@code String}, {@code Long}, {@code Double}, {@code Boolean} and
 * null.
 */
public final class Json {
    /** Deeper documents are refused, so that reading needs little stack. */
    private static final int MAX_DEPTH = 32;

    private final String text;
    private final boolean isCanonical;
    private int next;

    private Json(String text, boolean isCanonical) {
        this.text = text;
        this.isCanonical = isCanonical;
    }

    /**
     * Reads a document; throws IllegalArgumentException if the text is not JSON, repeats a key or is nested
     * deeply.
     *
     * @param text the document
     * @return its value: objects and lists can be changed; a number is a Double unless it is a whole one
     */
    public static Object parse(String text) {
        return new Json(text, false).readDocument();
    }

    /**
     * Reads a canonical document; throws IllegalArgumentException if {@code write} would write another text.
     *
     * <p>Keys that are not ASCII are sorted by code point.
     *
     * @param text the document
     * @return its value: objects and lists cannot be changed
     */
    public static Object parseCanonical(String text) {
        return new Json(text, true).readDocument();
    }

    /**
     * Returns the canonical text of a document: sorted keys, which are ASCII, no white space, and no floats.
     *
     * @param document maps, lists, texts, whole numbers, truth values and null
     * @return the text
     */
    public static String write(Object document) {
        StringBuilder target = new StringBuilder();
        write(document, target);
        return target.toString();
    }

    private static void write(Object value, StringBuilder target) {
        if (value instanceof Map) {
            char before = '{';
            for (Map.Entry<?, ?> entry : new TreeMap<Object, Object>((Map<?, ?>) value).entrySet()) {
                writeText((String) entry.getKey(), target.append(before));
                write(entry.getValue(), target.append(':'));
                before = ',';
            }
            target.append(before == '{' ? "{}" : "}");
        } else if (value instanceof List) {
            char before = '[';
            for (Object each : (List<?>) value) {
                write(each, target.append(before));
                before = ',';
            }
            target.append(before == '[' ? "[]" : "]");
        } else if (value instanceof String) {
            writeText((String) value, target);
        } else if (value == null || value instanceof Boolean || value instanceof Long
            || value instanceof Integer) {
            target.append(value);
        } else {
            throw new IllegalArgumentException("not a value of canonical JSON");
        }
    }

    private static void writeText(String text, StringBuilder target) {
        target.append('"');
        int written = 0;
        for (int i = 0; i < text.length(); i++) {
            char letter = text.charAt(i);
            if (letter < ' ' || letter == '"' || letter == '\\') {
                writeEscape(letter, target.append(text, written, i));
                written = i + 1;
            }
        }
        target.append(text, written, text.length()).append('"');
    }

    private static void writeEscape(char letter, StringBuilder target) {
        int known = "\b\t\n\f\r\"\\".indexOf(letter);
        if (known >= 0) {
            target.append('\\').append("btnfr\"\\".charAt(known));
        } else {
            target.append(letter < 16 ? "\\u000" : "\\u00").append(Integer.toHexString(letter));
        }
    }

    private Object readDocument() {
        skipSpace();
        Object value = readValue(0);
        require(next == text.length());
        return value;
    }

    /** Returns the next character, or 0 at the end: JSON does not contain it. */
    private char peek() {
        return next < text.length() ? text.charAt(next) : 0;
    }

    private Object readValue(int depth) {
        require(depth <= MAX_DEPTH);
        switch (peek()) {
            case '{':
                return readObject(depth);
            case '[':
                return readList(depth);
            case '"':
                return readText();
            case 't':
                return readWord("true", Boolean.TRUE);
            case 'f':
                return readWord("false", Boolean.FALSE);
            case 'n':
                return readWord("null", null);
            default:
                return readNumber();
        }
    }

    private Map<String, Object> readObject(int depth) {
        Map<String, Object> object = new LinkedHashMap<>();
        next++;
        skipSpace();
        String last = "";
        while (!takes('}')) {
            require((object.isEmpty() || takes(',')) && peek() == '"');
            String key = readText();
            require(takes(':') && !object.containsKey(key));
            // the order of texts in UTF-8 is that of their code points
            String place = Bytes.toHex(Bytes.fromText(key));
            require(!isCanonical || last.compareTo(place) <= 0);
            object.put(key, readValue(depth + 1));
            last = place;
        }
        return isCanonical ? Collections.unmodifiableMap(object) : object;
    }

    private List<Object> readList(int depth) {
        List<Object> list = new ArrayList<>();
        next++;
        skipSpace();
        if (!takes(']')) {
            do {
                list.add(readValue(depth + 1));
            } while (takes(','));
            require(takes(']'));
        }
        return isCanonical ? Collections.unmodifiableList(list) : list;
    }

    private String readText() {
        StringBuilder unescaped = null;
        int start = ++next;
        while (true) {
            char letter = peek();
            require(letter >= ' ');
            next++;
            if (letter == '"') {
                String rest = text.substring(start, next - 1);
                skipSpace();
                return unescaped == null ? rest : unescaped.append(rest).toString();
            }
            if (letter == '\\') {
                unescaped = unescaped == null ? new StringBuilder() : unescaped;
                unescaped.append(text, start, next - 1).append(readEscape());
                start = next;
            }
        }
    }

    private char readEscape() {
        int start = next - 1;
        char letter = readEscaped();
        if (isCanonical) {
            StringBuilder written = new StringBuilder();
            writeEscape(letter, written);
            require(letter < ' ' || letter == '"' || letter == '\\');
            require(text.startsWith(written.toString(), start));
        }
        return letter;
    }

    private char readEscaped() {
        char letter = peek();
        next++;
        if (letter != 'u') {
            int index = "\"\\/bfnrt".indexOf(letter);
            require(index >= 0);
            return "\"\\/\b\f\n\r\t".charAt(index);
        }
        int code = 0;
        for (int end = next + 4; next < end; next++) {
            int digit = Character.digit(peek(), 16);
            require(digit >= 0 && peek() < 128);
            code = 16 * code + digit;
        }
        return (char) code;
    }

    private Object readNumber() {
        int start = next;
        if (peek() == '-') {
            next++;
        }
        int digits = next;
        skipDigits();
        require(next == digits + 1 || text.charAt(digits) != '0');
        boolean isWhole = true;
        if (peek() == '.') {
            next++;
            skipDigits();
            isWhole = false;
        }
        if ((peek() | 32) == 'e') {
            next++;
            if (peek() == '+' || peek() == '-') {
                next++;
            }
            skipDigits();
            isWhole = false;
        }
        String number = text.substring(start, next);
        skipSpace();
        require(!isCanonical || isWhole && !number.equals("-0"));
        if (isWhole) {
            try {
                return Long.valueOf(number);
            } catch (NumberFormatException error) {
                require(!isCanonical); // an integer above 2^63 is a double
            }
        }
        return Double.valueOf(number);
    }

    private void skipDigits() {
        int start = next;
        while (peek() >= '0' && peek() <= '9') {
            next++;
        }
        require(next > start);
    }

    private Object readWord(String word, Object value) {
        require(text.startsWith(word, next));
        next += word.length();
        skipSpace();
        return value;
    }

    private boolean takes(char letter) {
        if (peek() != letter) {
            return false;
        }
        next++;
        skipSpace();
        return true;
    }

    private void skipSpace() {
        while (!isCanonical && " \n\r\t".indexOf(peek()) >= 0) {
            next++;
        }
    }

    private void require(boolean condition) {
        if (!condition) {
            throw new IllegalArgumentException("not JSON");
        }
    }
}
