/**
 * The store of a journal in IndexedDB.
 *
 * Each call opens the database and closes it again. So the database can be deleted at any time, and the next
 * call finds an empty one. Reading alone never creates the database: nothing is stored before consent.
 */

/** @typedef {import("./table.js").JournalEntry} JournalEntry */

/**
 * Receives all entries, and must not wait for anything: it writes and removes entries before it returns.
 *
 * @template T
 * @callback Change
 * @param {JournalEntry[]} entries
 * @param {(entry: JournalEntry) => void} write adds an entry, or replaces that of the same survey and origin
 * @param {(entry: JournalEntry) => void} remove
 * @returns {T}
 */

/**
 * Holds the entries of one journal. An application can inject its own, as the option `store`.
 *
 * @typedef {object} Store
 * @property {string} name the same for all stores of one journal
 * @property {() => Promise<JournalEntry[]>} read returns all entries
 * @property {<T>(change: Change<T>) => Promise<T>} update calls `change` once, within a transaction that
 *   excludes all others. It resolves when the changes are on disk. If `change` throws or the changes cannot be
 *   written, nothing is changed, and it rejects.
 */

const TABLE = "surveys";
/** The longest wait for the database to open: a deletion that another tab blocks, blocks opening it too. */
const OPEN_SECONDS = 10;

/**
 * Make the store of a database.
 *
 * @param {string} name
 * @returns {Store}
 */
export function openIndexedDb(name) {
  return {
    name,
    read: () => transact(name, "readonly", (entries) => entries),
    update: (change) => transact(name, "readwrite", change),
  };
}

/**
 * Read all entries and call `change` in one transaction.
 *
 * @template T
 * @param {string} name
 * @param {"readonly" | "readwrite"} mode
 * @param {Change<T>} change
 * @returns {Promise<T>}
 */
function transact(name, mode, change) {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, 1);
    const timer = setTimeout(() => {
      reject();
      mode = "readonly"; // so that it is not created later
      request.onsuccess = () => request.result.close();
    }, OPEN_SECONDS * 1000);
    request.onupgradeneeded = () => {
      if (mode === "readwrite") {
        request.result.createObjectStore(TABLE, { keyPath: ["survey", "origin"] });
      } else {
        resolve(/** @type {any} */ ([])); // only what reads finds no database
        request.transaction?.abort(); // then the database is not created
      }
    };
    request.onerror = reject;
    request.onsuccess = () => {
      clearTimeout(timer);
      const database = request.result;
      try {
        // "strict": the transaction completes when its changes are on disk, not only in the system's memory
        const transaction = database.transaction(TABLE, mode, { durability: "strict" });
        const table = transaction.objectStore(TABLE);
        const all = table.getAll();
        /** @type {T} */
        let result;
        all.onsuccess = () => {
          try {
            const remove = (/** @type {JournalEntry} */ { survey, origin }) => void table.delete([survey, origin]);
            result = change(all.result, (entry) => void table.put(entry), remove);
          } catch {
            transaction.abort(); // the journal knows the error
          }
        };
        transaction.oncomplete = () => resolve(result);
        transaction.onabort = reject;
        database.onclose = reject; // the database was deleted
      } catch {
        reject(); // the database has another table, or is being deleted
      } finally {
        database.close(); // after the transaction has ended
      }
    };
  });
}
