/** Waits for a time. */

/**
 * @param {number} seconds
 * @param {boolean} [isBackground] whether Node may end the process meanwhile
 */
export function sleep(seconds, isBackground) {
  return new Promise((resolve) => {
    const timer = /** @type {any} */ (setTimeout(resolve, Math.max(0, seconds) * 1000));
    if (isBackground) timer.unref?.();
  });
}
