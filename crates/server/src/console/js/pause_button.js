// The button that pauses or resumes a subscription or a pool, with undo.

import { post } from "./api.js";
import { button } from "./components.js";
import { attempt, toast } from "./toast.js";

export function pauseButton(one, here, reload) {
  const set = async (verb) => {
    await post(`${here}/${verb}`);
    await reload();
  };
  const [verb, back] = one.paused ? ["resume", "pause"] : ["pause", "resume"];
  const toggle = () =>
    attempt(async () => {
      await set(verb);
      toast(one.paused ? `${one.code} is resumed.` : `${one.code} is paused. Its jobs wait.`, { undo: () => set(back) });
    });
  return button(one.paused ? "Resume" : "Pause", toggle, "small");
}
