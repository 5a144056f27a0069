// The notice why a row waits, with a link to the row that it waits for.

import { encodePart } from "./api.js";
import { h } from "./dom.js";
import { notice } from "./components.js";
import { clock } from "./format.js";

/** `here` is the lane's path. */
export function waiting(here, { waiting: text, waitingBehind: behind, waitingUntil: until }) {
  if (!text) return null;
  const [before, after] = behind ? split(text, behind) : [text, ""];
  const head = behind && h("a", { href: `#${here}/rows/${encodePart(behind)}` }, behind);
  const time = until && new Date(until) > Date.now() && h("time", { title: until }, ` · until ${clock(until)}`);
  return notice("wait", before, head, after, time);
}

const split = (text, word) => {
  const at = text.indexOf(word);
  return at < 0 ? [`${text} `, ""] : [text.slice(0, at), text.slice(at + word.length)];
};
