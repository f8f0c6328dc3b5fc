/** Each step outside of the client fails in turn: a receipt comes back, and one report is counted in the end. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { MemoryStore, Recorder } from "../../src/testing.js";
import { LABEL, makeClient, PLAN, ROW } from "../clients.js";

const SECRET = "7.123456";

/** What a step throws: an error of each kind, also without a class or no error at all. @type {(() => unknown)[]} */
const ERRORS = [
  () => new Error(SECRET),
  () => new DOMException(SECRET, "AbortError"),
  () => SECRET,
  () => undefined,
  () => Object.assign(new TypeError(SECRET), { constructor: undefined }),
];

/** Whether the step fails now, with what, and how often it did. */
const fault = { isOn: false, count: 0, make: ERRORS[0] };

/** A browser whose parts fail. */
class Faulty {
  store = new MemoryStore();
  recorder = new Recorder(PLAN);

  /** @param {string} step that fails */
  constructor(step) {
    this.step = step;
  }

  /** @param {string} step */
  at(step) {
    if (!fault.isOn || step !== this.step) return;
    fault.count++;
    throw fault.make();
  }
}

/** Each step; it replaces a part of the browser or an option. @type {Record<string, (it: any) => any>} */
const STEPS = {
  "store.read": (it) => ({ store: wrapped(it.store, { read: () => it.at("store.read") }) }),
  "store.update": (it) => ({ store: wrapped(it.store, { update: () => it.at("store.update") }) }),
  "store.update after the commit": (it) => ({
    store: wrapped(it.store, {}, { update: () => it.at("store.update after the commit") }),
  }),
  "store.read that rejects": (it) => ({
    store: wrapped(it.store, { read: async () => it.at("store.read that rejects") }),
  }),
  send: (it) => ({ send: (/** @type {any} */ request) => (it.at("send"), it.recorder.send(request)) }),
  "send that rejects": (it) => ({
    send: async (/** @type {any} */ request) => (it.at("send that rejects"), it.recorder.send(request)),
  }),
  "a response that throws": (it) => ({
    send: async (/** @type {any} */ request) => {
      const response = await it.recorder.send(request);
      return Object.defineProperty({ ...response }, "status", {
        enumerable: true, get: () => (it.at("a response that throws"), response.status),
      });
    },
  }),
  "a response without use": (it) => ({
    send: async (/** @type {any} */ request) => {
      const response = await it.recorder.send(request);
      try {
        it.at("a response without use");
        return response;
      } catch {
        return { status: Symbol("200"), body: 7, retryAfter: 5n };
      }
    },
  }),
  onOutcome: (it) => ({ onOutcome: () => it.at("onOutcome") }),
  "onOutcome that rejects": (it) => ({ onOutcome: async () => it.at("onOutcome that rejects") }),
  random: (it) => ({ random: (/** @type {number} */ count) => (it.at("random"), new Uint8Array(count)) }),
  "crypto.getRandomValues": (it) => replaced(crypto, "getRandomValues", it),
  "performance.now": (it) => replaced(performance, "now", it),
  setTimeout: (it) => replaced(globalThis, "setTimeout", it),
  addEventListener: (it) => replaced(globalThis, "addEventListener", it),
  "document.addEventListener": (it) => replaced(globalThis.document, "addEventListener", it),
  BroadcastChannel: (it) => replaced(globalThis, "BroadcastChannel", it),
  "channel.postMessage": (it) => replaced(FakeChannel.prototype, "postMessage", it),
  "navigator.locks.request": (it) => replaced(FakeLocks.prototype, "request", it),
  "navigator.locks": (it) => ({ part: "navigator.locks", it }),
  TextDecoder: (it) => replaced(globalThis, "TextDecoder", it),
};

/** Steps of the client's making: they fail from the beginning. */
const AT_ONCE = ["addEventListener", "document.addEventListener", "BroadcastChannel"];
/** Steps of a report that waits for its time. */
const LATER = ["setTimeout"];

class FakeChannel {
  postMessage() {}
}

class FakeLocks {
  /**
   * @param {string} _name
   * @param {unknown} _options
   * @param {() => unknown} run
   */
  async request(_name, _options, run) {
    return run();
  }
}

/** The getter of locks fails with this. */
let failLocks = () => {};
const BROWSER = {
  document: Object.assign(new EventTarget(), { visibilityState: "visible" }),
  addEventListener() {},
  BroadcastChannel: FakeChannel,
  navigator: {
    get locks() {
      failLocks();
      return new FakeLocks();
    },
  },
};

/**
 * Return a store whose methods first, or last, call others.
 *
 * @param {any} store
 * @param {Record<string, () => unknown>} before
 * @param {Record<string, () => unknown>} [after]
 */
function wrapped(store, before, after = {}) {
  const call = (/** @type {string} */ name) => (/** @type {any[]} */ ...given) => {
    const first = before[name]?.();
    const done = async () => {
      await first;
      const result = await store[name](...given);
      after[name]?.();
      return result;
    };
    return done();
  };
  return { name: store.name, read: call("read"), update: call("update") };
}

/**
 * Replace a function of the browser by one that fails.
 *
 * @param {any} owner
 * @param {string} name
 * @param {Faulty} it
 */
function replaced(owner, name, it) {
  const former = owner[name];
  const isClass = /^[A-Z]/.test(name);
  owner[name] = function (/** @type {any[]} */ ...given) {
    it.at(it.step);
    return isClass ? new former(...given) : former.apply(this, given);
  };
  return { restore: () => (owner[name] = former) };
}

/**
 * Run a test in a browser of which one step can fail.
 *
 * @param {(it: any) => any} make
 * @param {string} step
 * @param {(options: any, it: Faulty) => Promise<void>} run
 */
async function inBrowser(make, step, run) {
  const before = Object.keys(BROWSER).map((key) => [key, Object.getOwnPropertyDescriptor(globalThis, key)]);
  for (const [key, value] of Object.entries(BROWSER)) {
    Object.defineProperty(globalThis, key, { configurable: true, writable: true, value });
  }
  const it = new Faulty(step);
  const { restore = () => {}, part, it: _it, ...options } = make(it);
  if (part) failLocks = () => it.at(step);
  const silent = console.error;
  console.error = (/** @type {unknown[]} */ ...texts) => assert.ok(!texts.join().includes(SECRET));
  try {
    await run({ store: it.store, recorder: it.recorder, send: it.recorder.send, spread: 0, ...options }, it);
  } finally {
    fault.isOn = false;
    failLocks = () => {};
    console.error = silent;
    restore();
    for (const [key, value] of before) {
      if (value) Object.defineProperty(globalThis, /** @type {string} */ (key), /** @type {any} */ (value));
      else Reflect.deleteProperty(globalThis, /** @type {string} */ (key));
    }
  }
}

/** @param {any} receipt */
function requireReceipt(receipt) {
  const text = `${receipt} ${JSON.stringify(receipt)}`;
  assert.ok(!text.includes(SECRET) && !text.includes("sometimes-secret"), text);
  assert.equal(typeof receipt.state, "string");
  return receipt;
}

for (const [step, make] of Object.entries(STEPS)) {
  test(`one report is made and sent, whatever happens to ${step}`, async () => {
    let failures = 0;
    for (const error of ERRORS) {
      await inBrowser(make, step, async (options, it) => {
        Object.assign(fault, { isOn: AT_ONCE.includes(step), count: 0, make: error });
        const { client } = makeClient({ ...options, spread: LATER.includes(step) ? 3600 : 0 });
        requireReceipt(await client.grant());
        fault.isOn = true;
        const receipt = requireReceipt(await client.report(ROW, LABEL));
        await new Promise((resolve) => setImmediate(resolve)); // the sender's steps fail too
        await new Promise((resolve) => setImmediate(resolve));
        fault.isOn = false;
        failures += fault.count;
        assert.ok(["queued", "unavailable"].includes(receipt.state), `${receipt}`);
        const again = requireReceipt(await client.report(ROW, LABEL));
        if (receipt.state === "queued") {
          assert.equal(receipt.epsilon, JSON.parse(new TextDecoder().decode(PLAN)).epsilon * 1);
          assert.equal(again.state, "already_reported");
        }
        const { state } = await client.flush(5);
        assert.equal(state, it.recorder.bodies.length > 1 ? "duplicate" : "sent"); // a response may be lost
        assert.equal(it.recorder.reports.length, 1);
        const [entry, ...others] = await it.store.read();
        assert.equal(`${entry.state} ${others.length}`, `${state} 0`);
        await client.close();
      });
    }
    assert.ok(failures || AT_ONCE.includes(step), "the step is never taken");
  });

  test(`every call returns a receipt, whatever happens to ${step}`, async () => {
    for (const error of ERRORS) {
      await inBrowser(make, step, async (options) => {
        Object.assign(fault, { isOn: true, count: 0, make: error });
        const { client } = makeClient(options);
        for (const call of [
          () => client.grant(), () => client.status(), () => client.report({ ...ROW, more: SECRET }, LABEL),
          () => client.status(), () => client.flush(0.01), () => client.withdraw(), () => client.flush(0.01),
        ]) {
          requireReceipt(await call());
        }
        await client.close();
      });
    }
  });
}

test("an answer is withdrawn although the sender cannot be told", async () => {
  const step = "navigator.locks.request";
  await inBrowser(STEPS[step], step, async (options, it) => {
    const { client } = makeClient({ ...options, spread: 3600 });
    await client.grant();
    await client.report(ROW, LABEL);
    Object.assign(fault, { isOn: true, make: ERRORS[0] });
    assert.equal((await client.withdraw()).state, "withdrawn");
    await client.flush(0.01);
    assert.equal(it.recorder.bodies.length, 0);
  });
});

test("a strict client throws what happens after the report is stored, which is sent later", async () => {
  const step = "performance.now";
  await inBrowser(STEPS[step], step, async (options, it) => {
    const { client } = makeClient({ ...options, strict: true });
    await client.grant();
    Object.assign(fault, { isOn: true, make: ERRORS[0] });
    await assert.rejects(client.report(ROW, LABEL), { message: SECRET });
    fault.isOn = false;
    assert.equal((await client.report(ROW, LABEL)).state, "already_reported");
    assert.equal((await client.flush(60)).state, "sent");
    assert.equal(it.recorder.reports.length, 1);
  });
});

test("the reason of a receipt is that of the step that failed after the report was stored", async () => {
  const step = "performance.now";
  await inBrowser(STEPS[step], step, async (options) => {
    const { client } = makeClient(options);
    await client.grant();
    Object.assign(fault, { isOn: true, make: ERRORS[0] });
    const receipt = await client.report(ROW, LABEL);
    assert.equal(`${receipt.state} ${receipt.reason}`, "queued internal-error");
    assert.ok(receipt.epsilon > 0);
  });
});
