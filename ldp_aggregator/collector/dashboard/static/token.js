// Keeps the operator's token in this tab's session storage, never in an address or a cookie.

const KEY = "ldp-operator-token";
let tokenInMemory = null;

/** Return the token, or null. */
export function token() {
  try {
    return tokenInMemory ?? sessionStorage.getItem(KEY);
  } catch {
    return tokenInMemory; // storage may be forbidden; then the page asks again after a reload
  }
}

/** Keep a token, or forget it (null). */
export function storeToken(value) {
  tokenInMemory = value;
  try {
    if (value === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  } catch {
    // the token is kept in memory
  }
}
