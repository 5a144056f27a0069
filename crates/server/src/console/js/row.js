// One row: why it waits, its timeline, its message and its columns. Refreshed while it is visible.

import { get, may, encodePart } from "./api.js";
import { reloadPage, h } from "./dom.js";
import { follow, livePart } from "./refresh.js";
import { message } from "./message.js";
import { changeRows } from "./row_actions.js";
import { button, facts, heading, long, badge, roleTone, section } from "./components.js";
import { timeline } from "./timeline.js";
import { waiting } from "./waiting.js";

const ACTIVE_ROLES = ["ready", "claimed", "waiting"];

export async function row(page, lane, id) {
  const here = `/lanes/${encodePart(lane)}`;
  const path = `${here}/rows/${encodePart(id)}`;
  const parts = {
    head: livePart((shown) => head(here, lane, shown)),
    wait: livePart((shown) => waiting(here, shown)),
    message: livePart((content) => message(path, content), withoutVolatileHeaders),
    story: livePart((moves) => section("Timeline", timeline(moves))),
    columns: livePart((all) => section("Columns", columns(all))),
  };
  const show = (shown) => {
    const { id: key, state, role, verbs, waiting: text, waitingBehind, waitingUntil } = shown;
    parts.head.show({ id: key, state, role, verbs });
    parts.wait.show({ waiting: text, waitingBehind, waitingUntil });
    parts.message.show(shown.message);
    parts.story.show(shown.timeline);
    parts.columns.show(shown.columns);
  };
  const first = await get(path);
  show(first);
  follow(page, path, first, (shown) => ACTIVE_ROLES.includes(shown.role), show);
  return [
    parts.head.node,
    parts.wait.node,
    h(
      "div",
      { class: "split wide-left" },
      h("div", { class: "stack" }, parts.message.node),
      h("div", { class: "stack" }, parts.story.node, parts.columns.node),
    ),
  ];
}

/** Drops the headers that differ in every response: a mail that is not sent yet is composed for each request. */
const withoutVolatileHeaders = (content) => ({
  ...content,
  headers: content.headers.filter(({ name }) => !/^(date|dkim-signature)$/i.test(name)),
});

const head = (here, lane, shown) =>
  heading(shown.id, {
    trail: [
      ["#/", "Overview"],
      [`#${here}`, lane],
    ],
    marks: [badge(shown.state ?? "unknown", roleTone(shown.role))],
    actions: may("operator")
      ? shown.verbs.map((verb) =>
          button(verb.title, () => changeRows(here, verb, { ids: [shown.id] }, reloadPage), verb.name === "cancel" ? "danger" : "primary"),
        )
      : [],
  });

const columns = (all) =>
  facts(
    all.map(({ name, value }) => [
      h("code", {}, name),
      value === null ? h("span", { class: "soft" }, "NULL") : h("code", {}, long(value, name)),
    ]),
    "wide",
  );
