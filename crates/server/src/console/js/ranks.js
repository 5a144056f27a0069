// How far along its way each state of a contract is: which stands left of which when they are drawn.
//
// Pure. Invariant: a move that leads on ends at a higher rank than it starts from, unless it closes a ring.

/** Moves that lead back: they say nothing about which state comes first. */
const BACK = /^(retr|releas|reclaim|defer)/;
/** Where a ring of moves is begun: what waits to be let in comes before what is ready. */
const ORDER = ["waiting", "ready", "claimed", "delivered", "failed", "ended"];

/** Moves that lead on, without those that close a ring. */
function forward(states, moves) {
  const names = new Set(states.map((state) => state.name));
  const leads = ({ from, to, verb, byHand }) => from !== to && names.has(from) && names.has(to) && !byHand && !BACK.test(verb);
  const onward = moves.filter(leads);
  const entered = new Set(onward.map((move) => move.to));
  const first = ({ name, role }) => (entered.has(name) ? ORDER.indexOf(role) : -1);
  const kept = [];
  const [under, seen] = [new Set(), new Set()];
  const walk = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    under.add(name);
    for (const move of onward.filter(({ from }) => from === name)) {
      if (under.has(move.to)) continue;
      kept.push(move);
      walk(move.to);
    }
    under.delete(name);
  };
  for (const { name } of [...states].sort((a, b) => first(a) - first(b))) walk(name);
  return kept;
}

/** How far along its way each state is. */
export function ranks(states, moves) {
  const onward = forward(states, moves);
  const rank = new Map(states.map((state) => [state.name, 0]));
  for (let round = 0; round < states.length; round += 1) {
    for (const { from, to } of onward) rank.set(to, Math.max(rank.get(to), rank.get(from) + 1));
  }
  const entered = new Set(onward.map((move) => move.to));
  const last = Math.max(...rank.values());
  for (const { name, role } of states) {
    if (entered.has(name)) continue;
    const leaves = onward.filter((move) => move.from === name && move.to !== name).map((move) => rank.get(move.to));
    // A state that only people lead into stands at the end; one that only retries lead into, before its claim.
    if (leaves.length) rank.set(name, Math.max(0, Math.min(...leaves) - 1));
    else if (role !== "ready") rank.set(name, last);
  }
  return rank;
}
