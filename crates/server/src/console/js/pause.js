// The button that pauses a subscription or a pool, or lets it go on, and takes that back.

import { post } from "./api.js";
import { button } from "./parts.js";
import { attempt, toast } from "./toast.js";

export function pauseButton(one, here, look) {
  const set = async (verb) => {
    await post(`${here}/${verb}`);
    await look();
  };
  const [verb, back] = one.paused ? ["resume", "pause"] : ["pause", "resume"];
  const flip = () =>
    attempt(async () => {
      await set(verb);
      toast(one.paused ? `${one.code} is resumed.` : `${one.code} is paused. Its jobs wait.`, { undo: () => set(back) });
    });
  return button(one.paused ? "Resume" : "Pause", flip, "small");
}
