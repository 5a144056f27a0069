// Short messages in the corner about the result of an action, with undo if it is possible.

import { h } from "./dom.js";
import { icon } from "./icons.js";

const VISIBLE_FOR = 7000;

/** Shows a message; `undo` reverts the action. An error stays until it is closed. */
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
  if (tone !== "bad") setTimeout(close, VISIBLE_FOR);
}

/** Runs an action and shows its error. Returns its result, or undefined. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    toast(error.message, { tone: "bad" });
    return undefined;
  }
}
