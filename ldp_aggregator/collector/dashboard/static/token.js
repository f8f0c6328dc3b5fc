// The operator's token: in this tab's session storage, never in an address, never in a cookie.

const KEY = "ldp-operator-token";
let held = null;

/** Return the token, or null. */
export function token() {
  try {
    return held ?? sessionStorage.getItem(KEY);
  } catch {
    return held; // storage may be forbidden; then a reload asks again
  }
}

/** Keep a token, or forget it (null). */
export function keepToken(given) {
  held = given;
  try {
    if (given === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, given);
  } catch {
    // memory will do
  }
}
