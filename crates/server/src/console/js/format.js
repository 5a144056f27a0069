// Formats numbers, durations and times.

const number = new Intl.NumberFormat("en");

/** `10,000+` where the count stopped. */
export const rows = (count, more = false) => `${number.format(count ?? 0)}${more ? "+" : ""}`;

export const plural = (count, one, many = `${one}s`) => `${rows(count)} ${Number(count) === 1 ? one : many}`;

/** Two units at most: `4 min 10 s`. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 10) return `${Math.max(0, seconds).toFixed(seconds >= 0.05 ? 1 : 0)} s`;
  const units = [
    ["d", 86400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ];
  const first = units.findIndex(([, size]) => whole >= size);
  const [name, size] = units[first];
  const [next, part] = units[first + 1] ?? ["", 0];
  const rest = part && Math.floor((whole % size) / part);
  return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${next}` : ""}`;
}

/** A rate that people can read. */
export function rate(value) {
  if (!value) return "0";
  if (value >= 100) return number.format(Math.round(value));
  return value >= 0.1 ? value.toFixed(1) : "<0.1";
}

const DAY = { day: "numeric", month: "short", year: "numeric" };
const SECOND = { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short" };

/** A time in the reader's time zone, to the second. */
export function moment(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? String(text) : time.toLocaleString("en-GB", { ...DAY, ...SECOND });
}

/** `14:05:09 CET` of today, with its day of any other. */
export function clock(text, now = new Date()) {
  const time = new Date(text);
  if (time.toDateString() !== now.toDateString()) return moment(text);
  return time.toLocaleTimeString("en-GB", SECOND);
}

/** The reader's time zone. */
export const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** `14:05` of today, with its day of any other. */
export function minute(text, now = new Date()) {
  const time = new Date(text);
  const formatted = time.toLocaleTimeString("en-GB", { timeStyle: "short" });
  return time.toDateString() === now.toDateString() ? formatted : `${time.toLocaleDateString("en-GB", { dateStyle: "medium" })}, ${formatted}`;
}

/** `4 min ago`, `in 2 h`. */
export function ago(text, now = Date.now()) {
  const seconds = (now - new Date(text).getTime()) / 1000;
  if (Number.isNaN(seconds)) return String(text);
  if (Math.abs(seconds) < 5) return "now";
  const [size, name] = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ].find(([least]) => Math.abs(seconds) >= least);
  const formatted = `${Math.floor(Math.abs(seconds) / size)} ${name}`;
  return seconds > 0 ? `${formatted} ago` : `in ${formatted}`;
}

/** JSON with line breaks; anything else as it is. */
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text ?? "";
  }
}

/** The value of a header, masked if it may be a secret. */
export const masked = (name, value) =>
  /authorization|cookie|token|secret|password|api[-_]?key/i.test(name) ? "••••••" : value;
