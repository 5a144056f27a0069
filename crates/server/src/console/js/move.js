// Moves rows: first asks how many it would be, then does it, and says what came of it.

import { post } from "./api.js";
import { confirm } from "./dialog.js";
import { attempt, toast } from "./toast.js";
import { plural } from "./words.js";

const MEANING = {
  requeue: { one: "It is tried again from the start, with all its attempts.", many: "They are tried again from the start, with all their attempts." },
  cancel: { one: "It is never delivered. This can't be taken back.", many: "They are never delivered. This can't be taken back." },
  release: {
    one: "Its claim is given up: any worker may take it now. Who holds it now may deliver it a second time.",
    many: "Their claims are given up: any worker may take them now. Who holds them now may deliver them a second time.",
  },
};

/** `which` is `{ ids }` or `{ state }`; `done` is called after rows were moved. */
export const move = (here, verb, which, done) =>
  attempt(async () => {
    const { matched, more } = await post(`${here}/${verb.name}`, { ...which, preview: true });
    if (!matched) return toast("No row is in a state for that any more.", { tone: "warn" });
    const count = `${plural(matched, "row")}${more ? " or more" : ""}`;
    const title = `${verb.title} ${count}?`;
    if (
      !(await confirm(
        title,
        MEANING[verb.name]?.[matched === 1 ? "one" : "many"] ?? "",
        `${verb.title} ${count}`,
        verb.name === "cancel" ? "danger solid" : "primary",
      ))
    )
      return undefined;
    const { moved } = await post(`${here}/${verb.name}`, { ...which, preview: false });
    const left = matched - moved;
    toast(`${verb.title}: ${plural(moved, "row")} moved${left > 0 && !more ? `, ${left} ${left === 1 ? "was" : "were"} in another state by then` : ""}.`, {
      tone: moved ? "good" : "warn",
    });
    return done();
  });
