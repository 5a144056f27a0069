// Client of the public API. It authenticates with the session cookie instead of a key.
//
// Owns: requests, errors, and the permissions of the signed-in user. The server enforces them; `may` only hides what it
// would refuse.

let csrf = "";
export const session = { role: "viewer", keyName: "", clientIds: [] };

const ROLES = ["viewer", "producer", "operator", "admin"];

/** Whether the session has this role or more. */
export const may = (role) => ROLES.indexOf(session.role) >= ROLES.indexOf(role);

/** Lanes belong to no client: they are for keys of all clients. */
export const maySeeLanes = () => !session.clientIds?.length;

/** An error response of the API, with its message. */
class ApiError extends Error {
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

/** Shows the progress bar at the top while requests are in flight. */
function countRequests(by) {
  open += by;
  if (bar) bar.hidden = open === 0;
}

async function send(method, path, body) {
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
    throw new ApiError({ detail: "No response from Postrider. Check that it is running and reachable." }, 0);
  }
}

async function call(method, path, content, shown = 1) {
  countRequests(shown);
  try {
    const answer = await send(method, path, content);
    const text = await answer.text();
    const body = text && (answer.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : {};
    if (answer.status === 401 && !path.endsWith("/login")) location.assign(`/console/login?ended${location.hash}`);
    if (!answer.ok) throw new ApiError(body, answer.status);
    return body;
  } finally {
    countRequests(-shown);
  }
}

const query = (parameters) => {
  const given = Object.entries(parameters ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

export const get = (path, parameters) => call("GET", `/api/v1${path}${query(parameters)}`);
/** GET without the progress bar, for background refreshes. */
export const getQuietly = (path, parameters) => call("GET", `/api/v1${path}${query(parameters)}`, undefined, 0);
export const post = (path, body) => call("POST", `/api/v1${path}`, body);
export const replace = (path, body) => call("PUT", `/api/v1${path}`, body);
export const encodePart = encodeURIComponent;

/** The source of a mail, as text. */
export async function source(path) {
  const answer = await send("GET", `/api/v1${path}`);
  if (!answer.ok) throw new ApiError(await answer.json().catch(() => ({})), answer.status);
  return answer.text();
}

/** Loads the session of the signed-in user; without one, `call` redirects to the sign-in page. */
export async function loadSession() {
  const body = await call("GET", "/console/session", undefined, 0);
  csrf = body.csrf;
  Object.assign(session, body);
}

export async function signOut() {
  await call("POST", "/console/logout");
  location.assign("/console/login");
}

export const login = (key) => call("POST", "/console/login", { key });
