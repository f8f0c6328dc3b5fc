// Schedules refreshes: none while the page is hidden, and longer intervals after each failure.

const INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 120_000;

/** Calls `work` every ten seconds; `work` resolves to null, or after a failure to the seconds to wait at least. */
export class Refresher {
  #work;
  #timer = 0;
  #wait = INTERVAL_MS;
  #automatic = true;
  #running = null;
  #isDue = false;

  constructor(work) {
    this.#work = work;
    document.addEventListener("visibilitychange", () => this.#onVisibilityChange());
  }

  /** Refresh now; concurrent callers share one refresh. */
  run() {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = null;
      this.#schedule();
    });
    return this.#running;
  }

  /** Refresh again after the current refresh, which may be of another survey. */
  async runAgain() {
    await this.#running;
    return this.run();
  }

  /** Whether to refresh periodically, or only when called. */
  set automatic(yes) {
    this.#automatic = yes;
    this.#schedule();
  }

  /** Stop refreshing until `automatic` is set again. */
  stop() {
    this.#wait = INTERVAL_MS;
    this.automatic = false;
  }

  async #runOnce() {
    clearTimeout(this.#timer);
    const failed = await this.#work();
    this.#wait = failed === null ? INTERVAL_MS : Math.min(Math.max(2 * this.#wait, 1000 * failed), MAX_INTERVAL_MS);
  }

  #schedule() {
    clearTimeout(this.#timer);
    this.#isDue = false;
    if (!this.#automatic) return;
    this.#timer = setTimeout(() => (document.hidden ? (this.#isDue = true) : this.run()), this.#wait);
  }

  #onVisibilityChange() {
    if (!document.hidden && this.#isDue) this.run();
  }
}
