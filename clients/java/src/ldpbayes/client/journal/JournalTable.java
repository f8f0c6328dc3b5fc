package ldpbayes.client.journal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import ldpbayes.client.State;
import ldpbayes.client.SurveyIdentity;

/** The entries of a journal within one transaction, and the queries that find them. */
final class JournalTable {
    final Map<SurveyIdentity, JournalEntry> entries = new LinkedHashMap<>();
    private final Map<String, byte[]> values;

    JournalTable(Map<String, byte[]> values) throws IOException {
        this.values = values;
        for (byte[] each : values.values()) {
            JournalEntry entry = JournalEntry.ofBytes(each);
            entries.put(entry.identity, entry);
        }
    }

    /** Adds an entry, or replaces that of the same survey and origin. */
    void write(JournalEntry entry) {
        entries.put(entry.identity, entry);
        values.put(entry.identity.toString(), entry.toBytes());
    }

    void remove(JournalEntry entry) {
        entries.remove(entry.identity);
        values.remove(entry.identity.toString());
    }

    /**
     * Returns the entries of a survey at all origins.
     *
     * <p>An application that no longer pins the author's key finds its entry by origin. The key in that entry
     * leads to the entries at other origins.
     */
    List<JournalEntry> surveyEntries(SurveyIdentity identity) {
        List<SurveyIdentity> publishers = new ArrayList<>();
        publishers.add(identity);
        for (JournalEntry each : entries.values()) {
            if (each.identity.matches(identity)) publishers.add(each.identity);
        }
        List<JournalEntry> found = new ArrayList<>();
        for (JournalEntry each : entries.values()) {
            if (each.identity.survey.equals(identity.survey) && isOfAny(publishers, each)) found.add(each);
        }
        return found;
    }

    /**
     * Returns a survey's entry; of several entries the answered one, otherwise that of this origin; or null.
     */
    JournalEntry find(SurveyIdentity identity) {
        JournalEntry found = null;
        for (JournalEntry each : surveyEntries(identity)) {
            if (each.isAnswered()) return each;
            if (found == null || each.identity.equals(identity)) found = each;
        }
        return found;
    }

    /**
     * Returns the entries of a family: of the publisher of one survey, and of publishers that its entries
     * name.
     */
    List<JournalEntry> familyEntries(SurveyIdentity identity, String family) {
        List<SurveyIdentity> publishers = new ArrayList<>();
        publishers.add(identity);
        for (JournalEntry each : surveyEntries(identity)) publishers.add(each.identity);
        List<JournalEntry> found = new ArrayList<>();
        for (JournalEntry each : entries.values()) {
            if (each.family.equals(family) && isOfAny(publishers, each)) found.add(each);
        }
        return found;
    }

    /** Returns the answered entry among those of one publisher's family, or null. */
    JournalEntry findAnswered(SurveyIdentity identity, String family) {
        for (JournalEntry each : familyEntries(identity, family)) {
            if (each.isAnswered()) return each;
        }
        return null;
    }

    /** Returns the queued entries of all rounds of a survey. */
    List<JournalEntry> queuedRounds(SurveyIdentity identity, String family) {
        List<JournalEntry> found = rounds(identity, family);
        found.removeIf(each -> each.state != State.QUEUED);
        return found;
    }

    /** Returns the entries of all rounds of a survey, of this family if it has no entry. */
    List<JournalEntry> rounds(SurveyIdentity identity, String family) {
        Set<String> families = new HashSet<>();
        for (JournalEntry each : surveyEntries(identity)) families.add(each.family);
        if (families.isEmpty()) families.add(family);
        List<JournalEntry> found = new ArrayList<>();
        for (String each : families) found.addAll(familyEntries(identity, each));
        return found;
    }

    private static boolean isOfAny(List<SurveyIdentity> publishers, JournalEntry entry) {
        for (SurveyIdentity each : publishers) {
            if (entry.identity.hasSamePublisher(each)) return true;
        }
        return false;
    }
}
