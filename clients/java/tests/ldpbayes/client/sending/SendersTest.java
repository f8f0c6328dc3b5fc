package ldpbayes.client.sending;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ldpbayes.client.SurveyIdentity;
import ldpbayes.client.journal.Journal;
import ldpbayes.testing.MemoryStore;
import org.junit.jupiter.api.Test;

/** The senders of a process. */
class SendersTest {
    @Test
    void theLatestSendersAreKept() {
        Journal first = new Journal(new MemoryStore());
        Journal second = new Journal(new MemoryStore());
        Sender firstSender = Sender.of(first);
        Sender secondSender = Sender.of(second);
        for (int each = 0; each < Sender.MAX_SENDERS; each++) {
            Sender.of(new Journal(new MemoryStore()));
            assertSame(secondSender, Sender.of(second));
        }
        assertEquals(Sender.MAX_SENDERS, Sender.SENDERS.size());
        assertNotSame(firstSender, Sender.of(first));
    }

    @Test
    void aSenderThatHoldsAReportBackIsKept() {
        Journal journal = new Journal(new MemoryStore());
        Sender sender = Sender.of(journal);
        SurveyIdentity survey = new SurveyIdentity("sleep", "https://here.test", "");
        sender.hold(survey, "sleep");
        for (int each = 0; each < Sender.MAX_SENDERS; each++) Sender.of(new Journal(new MemoryStore()));
        assertSame(sender, Sender.of(journal));
        assertTrue(sender.endHold(survey, "sleep"));
        assertFalse(sender.endHold(survey, "sleep"));
    }
}
