/** The client returns every state with every reason of docs/embedding.md, and throws these errors if strict. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { MAX_QUEUED_REPORTS } from "../../src/client/journal/journal.js";
import { throughRelay } from "../../src/relay.js";
import { MemoryStore, Recorder } from "../../src/testing.js";
import { INVITED, LABEL, makeClient, optedOut, PLAN, responding, ROW, SURVEY, URL_OF_SURVEY } from "../clients.js";
import { DIGEST, FakeRelay, RELAY, reported as reportedThere, respond, URL_AT_RELAY } from "../relays.js";
import { toBytes } from "../surveys.js";

const TABLE = new URL("../../../../docs/embedding.md", import.meta.url);
/** What needs an environment variable, a file or a module: a page has none of them. */
const PYTHON_ONLY = [
  "no_consent rehearsal ConsentError",
  "no_consent asks-again ConsentError",
  "rejected bad-option OptionError",
  "rejected bad-option BudgetError",
  "unavailable journal-damaged JournalError",
  "unavailable not-configured ",
  "unavailable bad-option ",
];
const DAY = 86_400_000;
const OTHER_PLAN = toBytes(INVITED.plan);
const OTHER_URL = URL_OF_SURVEY.replace(SURVEY, JSON.parse(INVITED.plan).id);

/** @typedef {import("../../src/client/receipt.js").Receipt} Receipt */
/** @typedef {(options?: any) => any} Make */

/**
 * The calls that lead to each state, reason and error. A case gets a function that makes a client.
 *
 * @type {[string, (make: Make) => Promise<Receipt>][]}
 */
const CASES = [
  ["no_consent no-consent ConsentError", (make) => make().client.report(ROW, LABEL)],
  ["no_consent do-not-track ConsentError", (make) => optedOut(() => make().client.grant())],
  ["ready  ", (make) => make().client.grant()],
  ["queued  ", async (make) => (await granted(make())).report(ROW, LABEL)],
  ["queued rehearsal ", (make) => delivered(make, responding(503, { reason: "rehearsal" }))],
  ["queued collector-unreachable ", (make) => delivered(make, async ({ method }) => {
    if (method === "POST") throw new TypeError("Failed to fetch");
    return { status: 200, body: PLAN };
  })],
  ["queued do-not-track ", async (make) => {
    const { client, recorder } = await reported(make());
    const receipt = await optedOut(() => client.flush(20));
    assert.equal(recorder.bodies.length, 0);
    return receipt;
  }],
  ["queued closed-once ", (make) => delivered(make, responding(410, { reason: "survey-closed" }))],
  ["queued no-answer-yet ", (make) => delivered(make, ({ method }) =>
    method === "GET" ? Promise.resolve({ status: 200, body: PLAN }) : new Promise(() => {}), 0.05)],
  ["queued client-closed ", async (make) => {
    const { client } = await reported(make({ send: ({ method }) =>
      method === "GET" ? Promise.resolve({ status: 200, body: PLAN }) : new Promise(() => {}) }));
    void client.close();
    return client.flush(20);
  }],
  ["sent  ", (make) => delivered(make, responding(200, { status: "recorded" }))],
  ["duplicate  ", (make) => delivered(make, responding(200, { status: "duplicate" }))],
  ["already_reported  ", async (make) => {
    const { client } = await reported(make());
    return client.report(ROW, LABEL);
  }],
  ["queued internal-error the original error", async (make) => {
    const client = await granted(make());
    const { now } = performance;
    performance.now = () => {
      throw new RangeError("a value of the row");
    };
    try {
      return await client.report(ROW, LABEL);
    } finally {
      performance.now = now;
    }
  }],
  ["invalid invalid-row RowError", async (make) => {
    const client = await granted(make());
    return client.report({ ...ROW, left: NaN }, "no such label");
  }],
  ["invalid invalid-token TokenError", (make) => make({ token: "misspelt" }).client.grant()],
  ["unavailable collector-unreachable TransportError", (make) => {
    const { client, recorder } = make();
    recorder.isOffline = true;
    return client.grant();
  }],
  ["unavailable journal-unavailable JournalError", (make) => {
    const { client, store } = make();
    store.isBroken = true;
    return client.grant();
  }],
  ["unavailable queue-full JournalError", async (make) => {
    const { client, store } = make();
    await granted({ client });
    await store.update((/** @type {any} */ [entry], /** @type {any} */ write) => {
      for (let number = 0; number < MAX_QUEUED_REPORTS; number++) {
        const id = `other-${number}`;
        write({ ...entry, survey: id, family: id, origin: "https://x:1", state: "queued", plan: undefined });
      }
    });
    return client.report(ROW, LABEL);
  }],
  ["unavailable client-closed ClosedError", async (make) => {
    const { client } = make();
    await client.close();
    return client.grant();
  }],
  ["unavailable internal-error the original error", async (make) => {
    const client = await granted(make());
    const row = new Proxy(ROW, { ownKeys: () => { throw new RangeError("a value of the row"); } });
    return client.report(row, LABEL);
  }],
  ["rejected epsilon-above-cap BudgetError", (make) => make({ maxEpsilon: 0.5 }).client.grant()],
  ["rejected total-epsilon-spent BudgetError", (make) => make({ maxTotalEpsilon: 0.5 }).client.grant()],
  ["rejected plan-changed PlanError", (make) => make({ digest: "0".repeat(64) }).client.grant()],
  ["rejected bad-signature SignatureError", (make) => {
    const bodyOf = (/** @type {string} */ url) => (url.endsWith("/signature") ? toBytes("AAAA") : PLAN);
    const send = async (/** @type {any} */ { url }) => ({ status: 200, body: bodyOf(url) });
    return make({ publicKey: `${"A".repeat(43)}=`, send }).client.grant();
  }],
  ["rejected invalid-plan SurveyError", (make) => make({ recorder: new Recorder('{"format":1}') }).client.grant()],
  ["rejected invalid-plan PrivacyError", (make) => make({ recorder: new Recorder(overspent()) }).client.grant()],
  ["expired survey-closed ExpiredError", (make) => {
    const { client, recorder } = make();
    recorder.respond("closed");
    return client.grant();
  }],
  ["withdrawn  ", async (make) => {
    const { client, recorder } = await reported(make());
    await client.withdraw();
    assert.equal(String(await client.flush(20)), "withdrawn");
    assert.equal(String(await client.grant()), "withdrawn");
    assert.equal(recorder.bodies.length, 0);
    return client.report(ROW, LABEL);
  }],
  ...["too-many-requests", "store-unavailable", "survey-not-open", "incomplete-body", "internal-error",
    "unknown-survey", "wrong-plan", "not-enrolled", "not-authorised", "length-required", "unsupported-media-type",
    "too-many-reports", "no-such-page"].map((reason) => /** @type {[string, any]} */ ([
      `queued ${reason} `, (/** @type {Make} */ make) => delivered(make, responding(400, { reason })),
    ])),
  ...["malformed", "too-large", "unknown-question", "bad-payload", "id-reused"].map((reason) =>
    /** @type {[string, any]} */ ([
      `rejected ${reason} `, (/** @type {Make} */ make) => delivered(make, responding(400, { reason })),
    ])),
  ["unavailable relay-unsupported TransportError", (make) => relayed(make, [], { relay: undefined }).client.grant()],
  ["unavailable relay-unpinned TransportError", (make) => relayed(make, [], { digest: undefined }).client.grant()],
  ["unavailable relay-unreachable TransportError", (make) =>
    relayed(make, [], { send: async () => undefined }).client.grant()],
  ["rejected other-plan PlanError", (make) => relayed(make, [], { survey: PLAN, url: `${RELAY}/${SURVEY}`,
    digest: undefined }).client.grant()],
  ["queued relay-unreachable ", (make) => deliveredThere(make, "no answer")],
  ["rejected other-plan ", (make) => deliveredThere(make, respond(404, { reason: "other-plan" }))],
  ["rejected bad-seal ", (make) => deliveredThere(make, respond(400, { reason: "bad-seal" }))],
  ["queued network-full ", (make) => deliveredThere(make, respond(429, { reason: "network-full" }, 28_800))],
  ...["code-missing", "code-unknown", "code-used"].map((reason) => /** @type {[string, any]} */ ([
    `rejected ${reason} `, (/** @type {Make} */ make) => deliveredThere(make, respond(403, { reason })),
  ])),
  ...["passed-on", "survey-closed", "relay-unreachable"].map((reason) => /** @type {[string, any]} */ ([
    `withdrawn ${reason} `, async (/** @type {Make} */ make) => {
      const answer = respond(reason === "passed-on" ? 409 : reason === "survey-closed" ? 410 : 503, { reason });
      const { client } = await reportedThere(relayed(make, [undefined, answer]));
      await client.flush(5);
      return client.withdraw();
    },
  ])),
  ...["unknown-survey", "store-unavailable"].map((reason) => /** @type {[string, any]} */ ([
    `unavailable ${reason} TransportError`,
    (/** @type {Make} */ make) => {
      const send = async () => ({ status: 404, body: toBytes(JSON.stringify({ reason })) });
      return make({ send }).client.grant();
    },
  ])),
];

/** A plan that claims a smaller epsilon than its tables spend. */
function overspent() {
  const plan = JSON.parse(new TextDecoder().decode(PLAN));
  return new TextDecoder().decode(PLAN).replace(`"epsilon":"${plan.epsilon}"`, '"epsilon":"0.5"');
}

/**
 * Make a client of a survey with a relay, which gives these answers to requests other than GET.
 *
 * @param {Make} make
 * @param {any[]} answers
 * @param {any} [options]
 */
function relayed(make, answers, options) {
  const relay = new FakeRelay();
  relay.answers = answers;
  const { send } = relay;
  return make({ survey: URL_AT_RELAY, digest: DIGEST, relay: throughRelay(RELAY), send, ...options });
}

/**
 * @param {Make} make
 * @param {any} answer
 */
async function deliveredThere(make, answer) {
  const { client } = await reportedThere(relayed(make, [answer]));
  return client.flush(0);
}

/** @param {any} made */
async function granted({ client }) {
  assert.equal(String(await client.grant()), "ready");
  return client;
}

/** @param {any} made */
async function reported(made) {
  const client = await granted(made);
  const receipt = await client.report(ROW, LABEL);
  assert.equal(receipt.state, "queued");
  assert.ok(receipt.epsilon > 0);
  return made;
}

/**
 * @param {Make} make
 * @param {any} send
 */
async function delivered(make, send, timeout = 0.3) {
  const { client } = await reported(make({ send }));
  return client.flush(timeout);
}

for (const [name, act] of CASES) {
  const [, state, reason, error] = /** @type {RegExpExecArray} */ (/^(\S+) (\S*) (.*)$/.exec(name));
  test(`receipt: ${name}`, async () => {
    const receipt = await act(makeClient);
    assert.equal(`${receipt.state} ${receipt.reason}`, `${state} ${reason}`);
    assert.ok(!String(receipt).includes("a value of the row"));
    assert.ok(!receipt.reason || receipt.why || receipt.reason === "no-consent" || state === "rejected");
  });
  if (error) {
    test(`strict: ${name}`, async () => {
      const strict = (/** @type {any} */ options) => makeClient({ ...options, strict: true });
      const expected = error === "the original error" ? "RangeError" : error;
      await assert.rejects(act(strict), (/** @type {Error} */ thrown) => thrown.constructor.name === expected);
    });
  }
}

test("a report expires when the survey is still closed a day later", async (context) => {
  const { client, store } = await reported(makeClient({ send: responding(410, { reason: "survey-closed" }) }));
  const start = Date.now();
  assert.equal((await client.flush(20)).reason, "closed-once");
  const again = makeClient({ store, send: responding(410, { reason: "survey-closed" }) }).client;
  context.mock.method(Date, "now", () => start + DAY - 1000);
  const [entry] = await store.read();
  const { Journal } = await import("../../src/client/journal/journal.js");
  const journal = new Journal(store);
  assert.equal((await journal.recordOutcome(entry, "expired", "survey-closed"))?.state, "queued");
  context.mock.method(Date, "now", () => start + DAY + 10_000);
  assert.equal((await journal.recordOutcome(entry, "expired", "survey-closed"))?.state, "expired");
  const receipt = await again.status();
  assert.equal(`${receipt.state} ${receipt.reason}`, "expired survey-closed");
  assert.equal((await store.read())[0].report, undefined);
});

test("the day of a closed survey begins again if the clock was set back", async () => {
  const { store } = await reported(makeClient());
  const { Journal } = await import("../../src/client/journal/journal.js");
  const journal = new Journal(store);
  const [entry] = await store.read();
  assert.equal((await journal.recordOutcome(entry, "expired", "survey-closed", 5 * DAY))?.state, "queued");
  assert.equal((await journal.recordOutcome(entry, "expired", "survey-closed", 3 * DAY))?.state, "queued");
  assert.equal((await journal.recordOutcome(entry, "expired", "survey-closed", 4 * DAY - 1))?.state, "queued");
  assert.equal((await journal.recordOutcome(entry, "expired", "survey-closed", 4 * DAY))?.state, "expired");
});

test("states, reasons and errors are those of the documentation", () => {
  const lines = readFileSync(TABLE, "utf8").split("\n");
  const first = lines.findIndex((line) => line.startsWith("| `state` | `reason` |"));
  const rows = lines.slice(first + 2, lines.indexOf("", first));
  const documented = rows.flatMap((line) => {
    const [state, reason, error] = line.split("|").slice(1, 4).map((cell) => cell.trim());
    const words = (/** @type {string} */ cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]);
    const reasons = reason.startsWith("another") ? ["store-unavailable"] : words(reason);
    const errors = error === "the original error" ? [error] : words(error);
    return (reasons.length ? reasons : [""]).flatMap((each) =>
      (errors.length ? errors : [""]).map((name) => `${words(state)[0]} ${each} ${name}`),
    );
  });
  const ofWaves = ["waiting  ", "missed  ", "not_asked  "]; // reached in waves.test.js
  const reached = [...CASES.map(([name]) => name), ...ofWaves, ...PYTHON_ONLY];
  assert.deepEqual([...new Set(reached)].sort(), [...new Set(documented)].sort());
});
