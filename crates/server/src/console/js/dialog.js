// Dialogs: to agree to something, to see a secret once.

import { h } from "./dom.js";
import { copyButton } from "./parts.js";

/** Opens a dialog; `build` gets what closes it. It leaves the page when it is closed, by Escape too. */
export function dialog(title, build, closed = () => {}) {
  const close = () => frame.close();
  const frame = h("dialog", { "aria-label": title }, h("h2", {}, title), build(close));
  frame.addEventListener("close", () => {
    frame.remove();
    closed();
  });
  document.body.append(frame);
  frame.showModal();
  return { frame, close };
}

/** Asks; answers whether it was agreed to. */
export function confirm(title, text, verb, kind = "primary") {
  return new Promise((answer) => {
    let agreed = false;
    dialog(
      title,
      (close) => [
        h("p", {}, text),
        h(
          "div",
          { class: "buttons" },
          // Beside a button that cancels something, another "Cancel" would be read as the same.
          h("button", { type: "button", onclick: close }, verb.startsWith("Cancel") ? "Keep" : "Cancel"),
          h(
            "button",
            {
              type: "button",
              class: kind,
              onclick: () => {
                agreed = true;
                close();
              },
            },
            verb,
          ),
        ),
      ],
      () => answer(agreed),
    );
  });
}

/** Shows secrets once; answers when it is closed. */
export function reveal(title, secrets) {
  return new Promise((answer) => {
    const { frame } = dialog(
      title,
      (close) => [
        h("p", {}, "Copy it now. It is shown only once and cannot be retrieved later."),
        secrets.map(([name, value]) =>
          h("div", { class: "secret" }, h("span", { class: "name" }, name), h("code", {}, value), copyButton(value)),
        ),
        h("div", { class: "buttons" }, h("button", { type: "button", class: "primary", onclick: close }, "Done")),
      ],
      answer,
    );
    // Not by Escape, which comes easily.
    frame.addEventListener("cancel", (event) => event.preventDefault());
  });
}
