// Requeues, cancels or releases rows: counts them, asks for confirmation, and reports the result.

import { post } from "./api.js";
import { confirm } from "./dialog.js";
import { attempt, toast } from "./toast.js";
import { plural } from "./format.js";

const MEANING = {
  requeue: { one: "The row is delivered again, with all its attempts.", many: "The rows are delivered again, with all their attempts." },
  cancel: { one: "The row will not be delivered. This cannot be undone.", many: "The rows will not be delivered. This cannot be undone." },
  release: {
    one: "The claim ends and any worker may take the row. If a worker still holds it, it may be delivered twice.",
    many: "The claims end and any worker may take the rows. If a worker still holds one, it may be delivered twice.",
  },
};

/** Changes rows; `which` is `{ ids }` or `{ state }`, `done` is called afterwards. */
export const changeRows = (here, verb, which, done) =>
  attempt(async () => {
    const { matched, more } = await post(`${here}/${verb.name}`, { ...which, preview: true });
    if (!matched) return toast("No selected row is in a state that allows this.", { tone: "warn" });
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
    toast(`${verb.title}: ${plural(moved, "row")} changed${left > 0 && !more ? `; ${left} had changed state in the meantime` : ""}.`, {
      tone: moved ? "good" : "warn",
    });
    return done();
  });
