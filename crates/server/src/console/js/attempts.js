// Describes the attempts of a job in sentences: the response, the host, the duration, and what came next.

import { span } from "./format.js";

const OUTCOMES = {
  SUCCESS: (host) => `accepted by ${host}`,
  TIMEOUT: (host) => `no answer from ${host} in time`,
  CONNECTION_ERROR: (host) => `no connection to ${host}`,
  CLIENT_ERROR: () => "not sent: the job is not valid",
};

/** Returns the timeline of a job, oldest first. */
export function attemptTimeline(job) {
  const attempts = (job.attempts ?? []).toSorted((one, other) => one.attemptNumber - other.attemptNumber);
  const entries = attempts.map((one, at) => attemptEntry(job, one, attempts[at + 1]));
  const next = job.nextAttemptAt && new Date(job.nextAttemptAt) > Date.now();
  return next ? [...entries, { at: job.nextAttemptAt, what: "Next attempt" }] : entries;
}

function attemptEntry(job, one, next) {
  const good = one.status === "SUCCESS";
  const took = one.durationMillis ?? null;
  const words = [took !== null && `${took} ms`, !good && one.errorMessage, !good && nextStep(job, one, next)];
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

function nextStep(job, one, next) {
  if (next) return `retried ${span(Math.round((new Date(next.attemptedAt) - new Date(one.attemptedAt)) / 1000))} later`;
  if (job.nextAttemptAt) return null;
  return job.status === "ERROR" ? "not retried" : null;
}
