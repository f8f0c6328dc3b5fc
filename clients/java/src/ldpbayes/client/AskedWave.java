package ldpbayes.client;

import ldpbayes.RandomSource;
import ldpbayes.client.journal.JournalEntry;
import ldpbayes.survey.Invitation;
import ldpbayes.survey.Plan;
import ldpbayes.survey.Waves;

/** The wave in which a person answers: drawn when they agree, and kept in the journal. */
final class AskedWave {
    /** The reason in an entry whose wave was over when the person agreed. */
    private static final String NOT_ASKED = "not-asked";

    private AskedWave() {
    }

    /**
     * Returns the entry of a person who agrees at a time, with their wave; {@code known} is the entry so far.
     *
     * <p>It keeps its wave through withdrawals and new grants, so nobody can draw another wave.
     */
    static JournalEntry choose(Plan plan, Invitation invited, JournalEntry known, JournalEntry agreed,
            RandomSource random, long now) {
        if (plan.waves() == null) return agreed;
        boolean isKept = invited == null && known != null && !known.wave.isEmpty();
        if (isKept) return agreed.inWave(known.wave, known.reason);
        JournalEntry asked = agreed.inWave(invited != null ? invited.wave().name
            : plan.waves().areDrawn() ? plan.waves().draw(random).name : JournalEntry.OPEN_WAVE, "");
        return find(plan, asked, now).closes <= now ? asked.inWave(asked.wave, NOT_ASKED) : asked;
    }

    /**
     * Returns the wave of an entry, or null without waves. For {@code OPEN_WAVE} it is the wave that is open,
     * or the next one, or after all waves the last one.
     */
    static Waves.Wave find(Plan plan, JournalEntry entry, long now) {
        if (plan.waves() == null || entry.wave.isEmpty()) return null;
        if (!entry.wave.equals(JournalEntry.OPEN_WAVE)) return plan.waves().find(entry.wave);
        Waves.Wave found = plan.waves().list().get(0);
        for (Waves.Wave each : plan.waves().list()) found = found.closes <= now ? each : found;
        return found;
    }

    /** Returns the receipt of a person whose wave is not open at a time; null if they can answer. */
    static Receipt describeWait(Plan plan, JournalEntry entry, long now) {
        Waves.Wave wave = find(plan, entry, now);
        if (wave == null || wave.opens <= now && now < wave.closes) return null;
        State state = now < wave.opens ? State.WAITING
            : entry.reason.equals(NOT_ASKED) ? State.NOT_ASKED : State.MISSED;
        String why = state == State.WAITING ? " has not opened yet"
            : state == State.MISSED ? " is over" : " was over when the person agreed";
        return new Receipt(state, plan.id(), "", "the wave " + wave.name + why, wave);
    }
}
