// The attempts of a job as sentences: what was answered, by whom, how long it took, what came next.

import { span } from "./words.js";

const OUTCOMES = {
  SUCCESS: (host) => `accepted by ${host}`,
  TIMEOUT: (host) => `no answer from ${host} in time`,
  CONNECTION_ERROR: (host) => `no connection to ${host}`,
  CLIENT_ERROR: () => "not sent: the job is not valid",
};

/** What happened to a job, oldest first. */
export function story(job) {
  const attempts = (job.attempts ?? []).toSorted((one, other) => one.attemptNumber - other.attemptNumber);
  const told = attempts.map((one, at) => sentence(job, one, attempts[at + 1]));
  const next = job.nextAttemptAt && new Date(job.nextAttemptAt) > Date.now();
  return next ? [...told, { at: job.nextAttemptAt, what: "Next attempt" }] : told;
}

function sentence(job, one, next) {
  const good = one.status === "SUCCESS";
  const took = one.durationMillis ?? null;
  const words = [took !== null && `${took} ms`, !good && one.errorMessage, !good && then(job, one, next)];
  return {
    at: one.attemptedAt,
    tone: good ? "good" : "bad",
    what: `Attempt ${one.attemptNumber}: ${outcome(job, one)}`,
    detail: words.filter(Boolean).join(" · "),
    body: one.responseBody || null,
    facts: one.errorStackTrace ? [{ name: "error_stack_trace", value: one.errorStackTrace }] : [],
  };
}

function outcome(job, one) {
  const host = URL.canParse(job.targetUrl ?? "") ? new URL(job.targetUrl).host : "its target";
  if (one.responseCode) return `${one.responseCode} from ${host}`;
  if (one.errorMessage === "worker lost") return "it is not known whether it arrived";
  return OUTCOMES[one.status]?.(host) ?? String(one.status).replaceAll("_", " ").toLowerCase();
}

function then(job, one, next) {
  if (next) return `retried ${span(Math.round((new Date(next.attemptedAt) - new Date(one.attemptedAt)) / 1000))} later`;
  if (job.nextAttemptAt) return null;
  return job.status === "ERROR" ? "not retried" : null;
}
