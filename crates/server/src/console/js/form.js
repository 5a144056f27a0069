// A form in a dialog, built from a list of fields. Errors of the API are shown at the field that they are about.
//
// A field: { name, label, hint, kind, required, options, value, once, whole }. `once`: only when an object is created;
// `whole`: as wide as the dialog. Kinds: text, number, url, choice, json, lines (one entry a line), pairs (`name: value` a line),
// datetime-local.

import { h } from "./dom.js";
import { dialog } from "./dialog.js";

/** Shows a form for the fields and passes the body to `send`; if `send` refuses it, the form stays open to be corrected. */
export function form(title, fields, values, verb, send) {
  const controls = fields
    .filter((field) => !(values && field.once))
    .map((field) => [field, control(field, values?.[field.name] ?? field.value)]);
  const general = h("p", { class: "mistake", role: "alert" });
  dialog(title, (close) => {
    const submit = h("button", { class: "primary" }, verb);
    const onsubmit = async (event) => {
      event.preventDefault();
      general.textContent = "";
      controls.forEach(([, part]) => showError(part, ""));
      submit.disabled = true;
      try {
        const missing = controls.filter(([field, { input: box }]) => field.required && !box.value.trim());
        if (missing.length)
          throw Object.assign(new Error(), { errors: missing.map(([{ name }]) => ({ field: name, message: "is required" })) });
        await send(read(controls));
        close();
      } catch (error) {
        showErrors(controls, general, error);
      } finally {
        submit.disabled = false;
      }
    };
    return h(
      "form",
      { onsubmit, novalidate: true },
      controls.map(([field, part]) =>
        h(
          "div",
          { class: `field ${field.kind ?? ""} ${field.whole ? "whole" : ""}` },
          h("label", { for: part.input.id }, field.label, field.required && h("span", { class: "soft" }, " (required)")),
          part.input,
          field.hint && h("p", { class: "hint", id: `${part.input.id}-hint` }, field.hint),
          part.mistake,
        ),
      ),
      general,
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: close }, "Cancel"), submit),
    );
  });
}

function control(field, value) {
  const id = `field-${field.name}`;
  const mistake = h("p", { class: "mistake", id: `${id}-mistake` });
  const common = {
    id,
    name: field.name,
    required: field.required,
    "aria-describedby": `${id}-mistake${field.hint ? ` ${id}-hint` : ""}`,
  };
  return { input: input(field, common, value), mistake };
}

function input(field, common, value) {
  switch (field.kind) {
    case "choice":
      return h(
        "select",
        common,
        field.options.map(([name, text]) => h("option", { value: name, selected: name === (value ?? "") }, text)),
      );
    case "json":
      return h(
        "textarea",
        { ...common, rows: 6, spellcheck: "false" },
        value === undefined || value === null ? "" : JSON.stringify(value, null, 2),
      );
    case "lines":
      return h("textarea", { ...common, rows: 2, spellcheck: "false" }, (value ?? []).join("\n"));
    case "pairs":
      return h(
        "textarea",
        { ...common, rows: 2, spellcheck: "false" },
        Object.entries(value ?? {})
          .map((pair) => pair.join(": "))
          .join("\n"),
      );
    default:
      return h("input", { ...common, type: field.kind ?? "text", value: value ?? "", autocomplete: "off", spellcheck: "false" });
  }
}

/** Returns the body; empty fields are left out. */
function read(controls) {
  const body = {};
  for (const [field, { input: box }] of controls) {
    const value = parse(field, box.value.trim());
    if (value !== undefined) body[field.name] = value;
  }
  return body;
}

function parse(field, text) {
  const entries = () =>
    text
      .split("\n")
      .map((line) => line.trim())
      .filter(Boolean);
  if (field.kind === "lines") return entries();
  if (field.kind === "pairs") return Object.fromEntries(entries().map((line) => line.split(/:\s*(.*)/s).slice(0, 2)));
  if (text === "") return undefined;
  if (field.kind === "number") return Number(text);
  if (field.kind === "datetime-local") return new Date(text).toISOString();
  if (field.kind !== "json") return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw Object.assign(new Error("see above"), { errors: [{ field: field.name, message: `is not JSON: ${error.message}` }] });
  }
}

function showError(part, text) {
  part.mistake.textContent = text;
  if (text) part.input.setAttribute("aria-invalid", "true");
  else part.input.removeAttribute("aria-invalid");
}

function showErrors(controls, general, error) {
  const errors = error.errors ?? [];
  const about = (mistake) =>
    controls.find(
      ([field]) =>
        mistake.field === field.name ||
        mistake.field?.startsWith(`${field.name}.`) ||
        mistake.field?.startsWith(`${field.name}[`),
    );
  for (const mistake of errors) if (about(mistake)) showError(about(mistake)[1], mistake.message);
  const left = errors.filter((mistake) => !about(mistake)).map((mistake) => `${mistake.field} ${mistake.message}`);
  general.textContent = errors.length ? left.join("; ") : error.message;
  controls.find(([, part]) => part.mistake.textContent)?.[1].input.focus();
}
