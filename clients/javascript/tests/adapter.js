/**
 * This package behind the interface of docs/porting.md, for tests/vectors/check_port.py.
 *
 * `node clients/javascript/tests/adapter.js --port 9000` serves it and prints its URL. Never use it for real
 * reports: the random bytes are part of the request.
 */

import { createServer } from "node:http";

import { answer } from "./answer.js";

const port = process.argv.indexOf("--port");
const server = createServer((request, response) => {
  /** @type {Buffer[]} */
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    const found = request.method === "POST" && request.url === "/report";
    response.writeHead(found ? 200 : 404, { "Content-Type": "application/json" });
    response.end(found ? JSON.stringify(answer(JSON.parse(Buffer.concat(parts).toString("utf8")))) : "{}");
  });
});
server.listen(port < 0 ? 9000 : Number(process.argv[port + 1]), "127.0.0.1", () => {
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  console.log(`http://127.0.0.1:${address.port}`);
});
