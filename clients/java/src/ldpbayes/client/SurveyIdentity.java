package ldpbayes.client;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import ldpbayes.Reason;

/**
 * Identifies a survey in a journal: its id together with its publisher.
 *
 * <p>An id or a family alone identifies nothing. Any collector can publish a plan under any name, and could
 * find out who answered another collector's survey.
 */
public final class SurveyIdentity {
    /** Printable ASCII without ? and #. Another host has several spellings, so it must be Punycode. */
    private static final Pattern SURVEY_URL = Pattern.compile(
        "(https?)://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*])(?::([0-9]{1,5}))?"
        + "(?:/[\\x21\\x22\\x24-\\x3e\\x40-\\x7e]*)?/([a-z0-9][a-z0-9-]{0,63})/*");

    /** The survey's id. */
    public final String survey;
    /** Scheme, host and port of the survey's URL. */
    public final String origin;
    /** The public key that the application pins, or an empty text. */
    public final String signer;

    /**
     * Makes an identity.
     *
     * @param survey the survey's id
     * @param origin scheme, host and port of its URL, in canonical form
     * @param signer the author's public key, or an empty text
     */
    public SurveyIdentity(String survey, String origin, String signer) {
        this.survey = survey;
        this.origin = origin;
        this.signer = signer;
    }

    /** Returns the identity of the survey at a URL. Throws OptionException if it is not a survey's URL. */
    static SurveyIdentity ofUrl(String url, String signer) {
        Matcher found = SURVEY_URL.matcher(url == null ? "" : url);
        try {
            if (found.matches() && !trim(url).endsWith("/v1/surveys")) {
                String scheme = found.group(1);
                int usual = scheme.equals("https") ? 443 : 80;
                int port = found.group(3) == null ? usual : Integer.parseInt(found.group(3));
                String place = port == usual ? "" : ":" + port;
                String origin = scheme + "://" + canonicalHost(found.group(2)) + place;
                if (port > 0 && port < 65536) return new SurveyIdentity(found.group(4), origin, signer);
            }
        } catch (UnknownHostException error) {
            // the brackets contain no IPv6 address
        }
        throw new OptionException("url: a survey's URL looks like https://host/v1/surveys/ID, in ASCII",
            Reason.BAD_OPTION);
    }

    /** Returns a host in lower case without dots at its end, or an IPv6 address without abbreviations. */
    private static String canonicalHost(String host) throws UnknownHostException {
        if (host.startsWith("[")) return "[" + InetAddress.getByName(host).getHostAddress() + "]";
        return host.replaceAll("\\.+$", "").toLowerCase(Locale.ROOT);
    }

    /** Returns a URL without the slashes at its end. */
    static String trim(String url) {
        int end = url.length();
        while (end > 0 && url.charAt(end - 1) == '/') end--;
        return url.substring(0, end);
    }

    /**
     * Returns whether two surveys have the same publisher: equal origins, or equal author's keys.
     *
     * @param other another survey's identity
     * @return whether the publisher is the same
     */
    public boolean hasSamePublisher(SurveyIdentity other) {
        return origin.equals(other.origin) || (!signer.isEmpty() && signer.equals(other.signer));
    }

    /**
     * Returns whether both identify one survey: equal ids of one publisher.
     *
     * @param other another survey's identity
     * @return whether the survey is the same
     */
    public boolean matches(SurveyIdentity other) {
        return survey.equals(other.survey) && hasSamePublisher(other);
    }

    /** Returns whether both have the same journal entry: equal ids and origins. */
    @Override
    public boolean equals(Object other) {
        return other instanceof SurveyIdentity && toString().equals(other.toString());
    }

    @Override
    public int hashCode() {
        return toString().hashCode();
    }

    /** Returns the key of the survey's journal entry. */
    @Override
    public String toString() {
        return survey + " " + origin;
    }
}
