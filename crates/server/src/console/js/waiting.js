// Why a row waits, in words, with a way to what it waits for.

import { segment } from "./api.js";
import { h } from "./dom.js";
import { notice } from "./parts.js";
import { clock } from "./words.js";

/** `here` is the lane's path. */
export function waiting(here, { waiting: text, waitingBehind: behind, waitingUntil: until }) {
  if (!text) return null;
  const [before, after] = behind ? split(text, behind) : [text, ""];
  const head = behind && h("a", { href: `#${here}/rows/${segment(behind)}` }, behind);
  const time = until && new Date(until) > Date.now() && h("time", { title: until }, ` · until ${clock(until)}`);
  return notice("wait", before, head, after, time);
}

const split = (text, word) => {
  const at = text.indexOf(word);
  return at < 0 ? [`${text} `, ""] : [text.slice(0, at), text.slice(at + word.length)];
};
