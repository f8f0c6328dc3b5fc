/** The senders of this page, one for each journal. */

import { Sender } from "./sender.js";

/** @type {Map<string, Sender>} */
const senders = new Map();

/**
 * Return the sender of a journal, the same for every client of this page.
 *
 * @param {import("../journal/journal.js").Journal} journal
 */
export function getSender(journal) {
  const sender = senders.get(journal.name) ?? new Sender(journal);
  senders.set(journal.name, sender);
  return sender;
}

/**
 * Make the senders of all tabs read a journal that was changed.
 *
 * @param {string} name
 */
export function announceChange(name) {
  senders.get(name)?.refresh();
  if (!globalThis.BroadcastChannel) return;
  const channel = new BroadcastChannel(name);
  channel.postMessage(0);
  channel.close();
}
