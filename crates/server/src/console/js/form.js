// A form in a dialog, made from a list of fields. The API's own words stand beside the field that they are about.

import { h } from "./dom.js";

/** Asks for the fields and hands the body to `send`; what `send` refuses is shown and may be mended. */
export function edit(title, fields, values, send) {
  const changing = Object.keys(values).length > 0;
  const asked = fields.filter((field) => field.kind !== "fixed" && !(changing && field.once));
  const general = h("p", { class: "mistake", role: "alert" });
  const inputs = asked.map((field) => [field, input(field, values[field.name] ?? field.value ?? "")]);
  const close = () => { dialog.close(); dialog.remove(); };
  const submit = async (event) => {
    event.preventDefault();
    general.textContent = "";
    inputs.forEach(([, part]) => { part.mistake.textContent = ""; });
    try {
      await send(body(fields, inputs));
      close();
    } catch (error) {
      const left = (error.errors ?? []).filter((mistake) => !put(inputs, mistake));
      general.textContent = left.length ? left.map((mistake) => `${mistake.field ?? ""} ${mistake.message ?? ""}`).join("; ") : error.errors?.length ? "" : error.message;
    }
  };
  const dialog = h("dialog", { "aria-label": title }, h("h1", {}, title),
    h("form", { onsubmit: submit }, inputs.map(([field, part]) => [h("label", { for: part.control.id }, field.label), part.control, part.mistake]), general,
      h("div", { class: "row end" }, h("button", { type: "button", onclick: close }, "Leave it"), h("button", { class: "primary" }, "Save"))));
  document.body.append(dialog);
  dialog.showModal();
}

function input(field, value) {
  const id = `field-${field.name}`;
  const mistake = h("div", { class: "mistake", id: `${id}-mistake` });
  const common = { id, name: field.name, required: field.required, "aria-describedby": `${id}-mistake` };
  const control = field.options ? h("select", common, field.options.map((one) => h("option", { value: one, selected: one === value }, one)))
    : field.kind === "json" ? h("textarea", { ...common, spellcheck: "false" }, "{}")
    : h("input", { ...common, type: field.kind ?? "text", value });
  return { control, mistake };
}

function body(fields, inputs) {
  const body = Object.fromEntries(fields.filter((field) => field.kind === "fixed").map((field) => [field.name, field.value]));
  for (const [field, { control }] of inputs) {
    if (control.value === "") continue;
    body[field.name] = field.kind === "number" ? Number(control.value) : field.kind === "json" ? JSON.parse(control.value) : control.value;
  }
  return body;
}

function put(inputs, mistake) {
  const found = inputs.find(([field]) => mistake.field === field.name || mistake.pointer === `/${field.name}`);
  if (found) found[1].mistake.textContent = mistake.message;
  return Boolean(found);
}
