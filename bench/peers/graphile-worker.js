// Fills and drains the queue of graphile-worker.

const { Logger, makeWorkerUtils, run } = require("graphile-worker");
const { Pool } = require("pg");

const connectionString = process.env.DATABASE_URL;
const logger = new Logger(() => () => {});

// The settings of its page on performance, with a larger local queue, which was faster on two cores.
const worker = {
  connectionString,
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 2000 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

async function fill(rows) {
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  await utils.release();
  const pool = new Pool({ connectionString });
  await pool.query(
    `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
       SELECT ROW('no_op', $1::json, NULL, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec
       FROM generate_series(1, $2::int)))`,
    [process.env.PAYLOAD, rows],
  );
  await pool.end();
}

async function drain() {
  await untilStarted();
  await run({ logger, noHandleSignals: true, preset: { worker }, taskList: { no_op: async () => count(1) } });
}

main({ fill, drain });
