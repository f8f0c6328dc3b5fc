// When to ask again: politely. Never while the page is hidden, ever more rarely while the collector fails.

const EVERY = 10_000;
const AT_MOST = 120_000;

/** Calls `work` every ten seconds; `work` resolves to null, or after a failure to the seconds to wait at least. */
export class Refresher {
  #work;
  #timer = 0;
  #wait = EVERY;
  #automatic = true;
  #running = null;
  #due = false;

  constructor(work) {
    this.#work = work;
    document.addEventListener("visibilitychange", () => this.#seen());
  }

  /** Ask now, once: whoever asks meanwhile waits for the same answer. */
  now() {
    this.#running ??= this.#once().finally(() => {
      this.#running = null;
      this.#plan();
    });
    return this.#running;
  }

  /** Ask once more after whatever is under way, which may have been asked for something else. */
  async afresh() {
    await this.#running;
    return this.now();
  }

  /** Refresh by itself, or only when told to. */
  set automatic(yes) {
    this.#automatic = yes;
    this.#plan();
  }

  /** Refresh no more, until it is set to be automatic again. */
  stop() {
    this.#wait = EVERY;
    this.automatic = false;
  }

  async #once() {
    clearTimeout(this.#timer);
    const failed = await this.#work();
    this.#wait = failed === null ? EVERY : Math.min(Math.max(2 * this.#wait, 1000 * failed), AT_MOST);
  }

  #plan() {
    clearTimeout(this.#timer);
    this.#due = false;
    if (!this.#automatic) return;
    this.#timer = setTimeout(() => (document.hidden ? (this.#due = true) : this.now()), this.#wait);
  }

  #seen() {
    if (!document.hidden && this.#due) this.now();
  }
}
