// Formats numbers and times as text.

const integerFormat = new Intl.NumberFormat("en");
const signedFormat = new Intl.NumberFormat("en", { signDisplay: "exceptZero" });

export const count = (n) => integerFormat.format(n);
export const change = (n) => (n === 0 ? "no change" : signedFormat.format(n));
export const clock = (date) => date.toLocaleTimeString("en", { hourCycle: "h23" });
