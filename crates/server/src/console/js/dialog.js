// Dialogs: confirmation, and secrets that are shown once.

import { h } from "./dom.js";
import { copyButton } from "./components.js";

/** Opens a modal dialog. `build` receives the function that closes it; Escape closes it as well. */
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

/** Asks for confirmation; resolves to whether it was given. */
export function confirm(title, text, verb, kind = "primary") {
  return new Promise((resolve) => {
    let confirmed = false;
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
                confirmed = true;
                close();
              },
            },
            verb,
          ),
        ),
      ],
      () => resolve(confirmed),
    );
  });
}

/** Shows secrets once; resolves when the dialog is closed. */
export function reveal(title, secrets) {
  return new Promise((resolve) => {
    const { frame } = dialog(
      title,
      (close) => [
        h("p", {}, "Copy it now. It is shown only once and cannot be retrieved later."),
        secrets.map(([name, value]) =>
          h("div", { class: "secret" }, h("span", { class: "name" }, name), h("code", {}, value), copyButton(value)),
        ),
        h("div", { class: "buttons" }, h("button", { type: "button", class: "primary", onclick: close }, "Done")),
      ],
      resolve,
    );
    // Escape must not close it by accident.
    frame.addEventListener("cancel", (event) => event.preventDefault());
  });
}
