/**
 * This package behind the interface of docs/porting.md, for tools/vectors/check_port.py; and for the audit.
 *
 * `node clients/javascript/tests/adapter.js --port 9000` serves it and prints its URL. Never use it for real
 * reports: the random bytes are part of the request. With `--with-parent` it ends when its input is closed.
 */

import { createServer } from "node:http";

import { answer } from "./answer.js";
import { CALLS } from "./audited.js";

if (process.argv.includes("--with-parent")) process.stdin.on("end", () => process.exit()).resume();
const port = process.argv.indexOf("--port");
/** What responds to each path. @type {Record<string, (posted: any) => any>} */
const paths = { "/report": answer, ...CALLS };
const server = createServer((request, response) => {
  /** @type {Buffer[]} */
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", async () => {
    const respond = request.method === "POST" && paths[request.url ?? ""];
    response.writeHead(respond ? 200 : 404, { "Content-Type": "application/json" });
    response.end(respond ? JSON.stringify(await respond(JSON.parse(Buffer.concat(parts).toString("utf8")))) : "{}");
  });
});
server.keepAliveTimeout = 0; // a checker may compute for a while between two requests
server.listen(port < 0 ? 9000 : Number(process.argv[port + 1]), "127.0.0.1", () => {
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`http://127.0.0.1:${address.port}`);
});
