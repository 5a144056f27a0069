// Fills and drains a queue of pg-boss.

const { PgBoss } = require("pg-boss");

const connectionString = process.env.DATABASE_URL;
const payload = JSON.parse(process.env.PAYLOAD);
const QUEUE = "no_op";
const CHUNK = 10_000;

// Workers that fetch full batches one after another, and complete each with one statement.
const options = {
  batchSize: 2000,
  burstWhenBatchFull: true,
  localConcurrency: 4,
  pollingIntervalSeconds: 0.5,
};

// Without its maintenance, which would run beside the jobs.
async function start() {
  const boss = new PgBoss({ connectionString, supervise: false, schedule: false });
  boss.on("error", (error) => {
    throw error;
  });
  await boss.start();
  return boss;
}

async function fill(rows) {
  const boss = await start();
  await boss.createQueue(QUEUE, { partition: true });
  for (let from = 0; from < rows; from += CHUNK) {
    const jobs = Array.from({ length: Math.min(CHUNK, rows - from) }, () => ({ data: payload }));
    await boss.insert(QUEUE, jobs);
  }
  await boss.stop();
}

async function drain() {
  const boss = await start();
  await untilStarted();
  await boss.work(QUEUE, options, async (jobs) => count(jobs.length));
}

main({ fill, drain });
