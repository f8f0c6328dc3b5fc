package ldpbayes;

/** The wire format of a report: one msgpack array of five entries in its shortest encoding. */
public final class Report {
    /** Largest length of a payload: a report has at most 4,096 bytes, of which 64 are for everything else. */
    public static final int MAX_PAYLOAD_BYTES = 4032;

    private Report() {
    }

    /**
     * Returns a report's bytes.
     *
     * @param planDigest 32 bytes
     * @param question index of the question in the plan
     * @param id 16 bytes, by which the collector counts the report once
     * @param payload output of the question's mechanism
     * @return the report
     */
    public static byte[] pack(byte[] planDigest, int question, byte[] id, byte[] payload) {
        byte[] head = {(byte) 0x95, 1};
        return Bytes.concatenate(
            head, bytesHead(planDigest), planDigest, packIndex(question),
            bytesHead(id), id, bytesHead(payload), payload);
    }

    private static byte[] packIndex(int index) {
        if (index < 0x80) {
            return new byte[] {(byte) index};
        }
        return index < 0x100
            ? new byte[] {(byte) 0xcc, (byte) index}
            : new byte[] {(byte) 0xcd, (byte) (index >> 8), (byte) index};
    }

    private static byte[] bytesHead(byte[] bytes) {
        int length = bytes.length;
        return length < 0x100
            ? new byte[] {(byte) 0xc4, (byte) length}
            : new byte[] {(byte) 0xc5, (byte) (length >> 8), (byte) length};
    }
}
