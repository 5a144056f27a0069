// How figures and times are said.

/** `10,000+` where the count stopped. */
export const rows = (count, more = false) => `${Number(count).toLocaleString("en")}${more ? "+" : ""}`;

/** Two units at most: `4 min 10 s`. */
export function span(seconds) {
  if (seconds === null || seconds === undefined) return "none";
  const whole = Math.max(0, Math.floor(seconds));
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

/** A rate that people can read. */
export const rate = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : (value ?? 0).toFixed(1));

/** A moment in the reader's own time zone. */
export function moment(text) {
  if (!text) return "";
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? text : time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

export const plural = (count, one, many = `${one}s`) => `${rows(count)} ${Number(count) === 1 ? one : many}`;
