package ldpbayes.client;

import java.io.IOException;

/** Sends one HTTP request; an application can give its own transport, for a proxy or a test. */
public interface Transport {
    /**
     * Sends one request, and returns the server's response. Redirects are not followed, cookies are neither
     * sent nor stored, and two reports are not sent over one connection.
     *
     * @param method {@code GET} or {@code POST}; with a relay also {@code DELETE}, which has a body too
     * @param url the URL
     * @param body is sent unchanged as {@code application/vnd.msgpack}; null for a GET
     * @param timeout seconds after which the request must fail
     * @return the response
     * @throws IOException if the server does not respond
     */
    Response request(String method, String url, byte[] body, double timeout) throws IOException;

    /** A server's response. */
    final class Response {
        private final int status;
        private final byte[] body;
        private final double retryAfter;

        /**
         * Makes a response.
         *
         * @param status the HTTP status
         * @param body the body
         * @param retryAfter seconds to wait before the next attempt, 0 if the server gave none
         */
        public Response(int status, byte[] body, double retryAfter) {
            this.status = status;
            this.body = body == null ? new byte[0] : body.clone();
            this.retryAfter = retryAfter;
        }

        /** {@return the HTTP status} */
        public int status() { return status; }

        /** {@return the body} */
        public byte[] body() { return body.clone(); }

        /** {@return the seconds to wait before the next attempt} */
        public double retryAfter() { return retryAfter; }
    }
}
