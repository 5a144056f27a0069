// Says in the corner what came of something, with a way back where there is one.

import { h } from "./dom.js";
import { icon } from "./icons.js";

const STAY = 7000;

/** `undo` is what takes it back. A mistake stays until it is closed. */
export function toast(text, { tone = "good", undo = null } = {}) {
  const close = () => note.remove();
  const back = async () => {
    close();
    try {
      await undo();
    } catch (error) {
      toast(error.message, { tone: "bad" });
    }
  };
  const note = h(
    "div",
    { class: `toast ${tone}`, role: tone === "bad" ? "alert" : null },
    icon(tone === "good" ? "done" : "alert"),
    h("span", {}, text),
    undo && h("button", { type: "button", class: "small", onclick: back }, "Undo"),
    h("button", { type: "button", class: "small bare", "aria-label": "Close", onclick: close }, icon("close")),
  );
  document.getElementById("toasts").append(note);
  if (tone !== "bad") setTimeout(close, STAY);
}

/** Does something; what it is refused for is said. Gives what came of it, or undefined. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message, { tone: "bad" });
    return undefined;
  }
}
