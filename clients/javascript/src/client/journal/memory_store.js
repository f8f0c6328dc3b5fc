/** A journal in memory, for tests and rehearsals. */

/** @typedef {import("./indexed_db.js").Store} Store */
/** @typedef {import("./table.js").JournalEntry} JournalEntry */

let stores = 0;

/**
 * A store in memory, for the option `store`: each new one is the journal of another person.
 *
 * @implements {Store}
 */
export class MemoryStore {
  /** @type {Map<string, JournalEntry>} */
  #entries = new Map();
  /** While true, every call fails, like a browser's storage that is full or forbidden. */
  isBroken = false;

  /** @param {string} [name] */
  constructor(name = `memory ${++stores}`) {
    this.name = name;
  }

  async read() {
    return this.#copy();
  }

  /**
   * @template T
   * @param {import("./indexed_db.js").Change<T>} change
   */
  async update(change) {
    // no step of this waits, so that it excludes all other calls
    const entries = new Map(this.#entries);
    const key = (/** @type {JournalEntry} */ { survey, origin }) => JSON.stringify([survey, origin]);
    const result = change(
      this.#copy(),
      (entry) => void entries.set(key(entry), structuredClone(entry)),
      (entry) => void entries.delete(key(entry)),
    );
    if (this.isBroken) throw new Error("the store is broken");
    this.#entries = entries;
    return result;
  }

  #copy() {
    if (this.isBroken) throw new Error("the store is broken");
    return structuredClone([...this.#entries.values()]);
  }
}
