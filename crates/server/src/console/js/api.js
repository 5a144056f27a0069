// The public API, called as any other program calls it; the session cookie stands for the key.
//
// Owns: requests, refusals, and what the one who is signed in may do. The server decides; `may` only hides what it would refuse.

let csrf = "";
export const session = { role: "viewer", keyName: "", clientIds: [] };

const ROLES = ["viewer", "producer", "operator", "admin"];

/** Whether the session has this role or more. */
export const may = (role) => ROLES.indexOf(session.role) >= ROLES.indexOf(role);

/** Lanes belong to no client: they are for keys of all clients. */
export const seesLanes = () => !session.clientIds?.length;

/** A refusal in the API's own words. */
class Refused extends Error {
  constructor(problem, status) {
    const errors = problem.errors ?? [];
    const each = errors.map(({ field, message }) => `${field} ${message}`).join("; ");
    super((status === 422 && each) || (problem.detail ?? problem.title ?? `The server answered with status ${status}`));
    this.status = status;
    this.errors = errors;
  }
}

const bar = document.getElementById("progress");
let open = 0;

/** Shows the thin line at the top while answers are awaited. */
function busy(by) {
  open += by;
  if (bar) bar.hidden = open === 0;
}

async function ask(method, path, body) {
  const headers = { accept: "application/json" };
  if (method !== "GET") headers["x-csrf-token"] = csrf;
  if (body !== undefined) headers["content-type"] = "application/json";
  try {
    return await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new Refused({ detail: "No response from Postrider. Check that it is running and reachable." }, 0);
  }
}

async function call(method, path, body, shown = 1) {
  busy(shown);
  try {
    const answer = await ask(method, path, body);
    const text = await answer.text();
    const said = text && (answer.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : {};
    if (answer.status === 401 && !path.endsWith("/login")) location.assign(`/console/login?ended${location.hash}`);
    if (!answer.ok) throw new Refused(said, answer.status);
    return said;
  } finally {
    busy(-shown);
  }
}

const query = (parameters) => {
  const given = Object.entries(parameters ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

export const get = (path, parameters) => call("GET", `/api/v1${path}${query(parameters)}`);
/** The same without a sign that something is loaded: for looks that nobody asked for. */
export const peek = (path, parameters) => call("GET", `/api/v1${path}${query(parameters)}`, undefined, 0);
export const post = (path, body) => call("POST", `/api/v1${path}`, body);
export const replace = (path, body) => call("PUT", `/api/v1${path}`, body);
export const segment = encodeURIComponent;

/** The source of a mail, as text. */
export async function source(path) {
  const answer = await ask("GET", `/api/v1${path}`);
  if (!answer.ok) throw new Refused(await answer.json().catch(() => ({})), answer.status);
  return answer.text();
}

/** Who is signed in; who is not any more is led to the door. */
export async function enter() {
  const said = await call("GET", "/console/session", undefined, 0);
  csrf = said.csrf;
  Object.assign(session, said);
}

export async function leave() {
  await call("POST", "/console/logout");
  location.assign("/console/login");
}

export const login = (key) => call("POST", "/console/login", { key });
