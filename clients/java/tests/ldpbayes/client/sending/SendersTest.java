package ldpbayes.client.sending;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

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
}
