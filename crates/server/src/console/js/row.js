// One row: why it waits, what happened to it, what it carries, and every column as it is; looked at again while it is seen.

import { get, may, segment } from "./api.js";
import { again, h } from "./dom.js";
import { follow, part } from "./fresh.js";
import { message } from "./message.js";
import { move } from "./move.js";
import { button, facts, heading, long, mark, roleTone, section } from "./parts.js";
import { timeline } from "./timeline.js";
import { waiting } from "./waiting.js";

const MOVING = ["ready", "claimed", "waiting"];

export async function row(page, lane, id) {
  const here = `/lanes/${segment(lane)}`;
  const path = `${here}/rows/${segment(id)}`;
  const parts = {
    head: part((seen) => head(here, lane, seen)),
    wait: part((seen) => waiting(here, seen)),
    message: part((carried) => message(path, carried), lasting),
    story: part((moves) => section("Timeline", timeline(moves))),
    columns: part((all) => section("Columns", columns(all))),
  };
  const show = (seen) => {
    const { id: key, state, role, verbs, waiting: text, waitingBehind, waitingUntil } = seen;
    parts.head.show({ id: key, state, role, verbs });
    parts.wait.show({ waiting: text, waitingBehind, waitingUntil });
    parts.message.show(seen.message);
    parts.story.show(seen.timeline);
    parts.columns.show(seen.columns);
  };
  const first = await get(path);
  show(first);
  follow(page, path, first, (seen) => MOVING.includes(seen.role), show);
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

/** A mail that is not sent yet is composed for each look, with the time of day in it. */
const lasting = (carried) => ({
  ...carried,
  headers: carried.headers.filter(({ name }) => !/^(date|dkim-signature)$/i.test(name)),
});

const head = (here, lane, seen) =>
  heading(seen.id, {
    trail: [
      ["#/", "Overview"],
      [`#${here}`, lane],
    ],
    marks: [mark(seen.state ?? "unknown", roleTone(seen.role))],
    actions: may("operator")
      ? seen.verbs.map((verb) =>
          button(verb.title, () => move(here, verb, { ids: [seen.id] }, again), verb.name === "cancel" ? "danger" : "primary"),
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
