// The operator's token: in this tab's session storage, never in an address, never in a cookie.

const KEY = "ldp-operator-token";
let tokenInMemory = null;

/** Return the token, or null. */
export function token() {
  try {
    return tokenInMemory ?? sessionStorage.getItem(KEY);
  } catch {
    return tokenInMemory; // storage may be forbidden; then a reload asks again
  }
}

/** Keep a token, or forget it (null). */
export function storeToken(value) {
  tokenInMemory = value;
  try {
    if (value === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  } catch {
    // memory will do
  }
}
