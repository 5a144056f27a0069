// The start of every JavaScript program here. Its commands are `fill ROWS`, and `drain`, which prints `ready`, waits for
// a line, and then prints how many jobs its task has seen whenever that has changed. See bench/src/peers/program.rs.

const { once } = require("node:events");

let seen = 0;

function count(jobs) {
  seen += jobs;
}

async function untilStarted() {
  process.stdout.write("ready\n");
  await once(process.stdin, "data");
  let printed = 0;
  setInterval(() => {
    if (seen === printed) return;
    printed = seen;
    process.stdout.write(`${seen}\n`);
  }, 10);
}

async function main({ fill, drain }) {
  const [command, rows] = process.argv.slice(1);
  await (command === "fill" ? fill(Number(rows)) : drain());
}
