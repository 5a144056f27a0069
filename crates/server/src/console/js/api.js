// The public API, called as any other program calls it; the session cookie stands for the key.

let csrf = "";
export const session = { role: "viewer", name: "" };

const RANKS = ["viewer", "producer", "operator", "admin"];
/** Whether who is signed in has this role or more. */
export const may = (role) => RANKS.indexOf(session.role) >= RANKS.indexOf(role);

/** A refusal in the API's own words. */
export class Refused extends Error {
  constructor(problem, status) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
    this.status = status;
    this.errors = problem.errors ?? [];
  }
}

async function call(method, path, body, type = "application/json") {
  const headers = { accept: "application/json" };
  if (method !== "GET") headers["x-csrf-token"] = csrf;
  if (body !== undefined) headers["content-type"] = type;
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin" });
  if (answer.status === 401) { location.href = "/console/login"; throw new Refused({ detail: "signed out" }, 401); }
  const text = await answer.text();
  const said = text && (answer.headers.get("content-type") ?? "").includes("json") ? JSON.parse(text) : {};
  if (!answer.ok) throw new Refused(said, answer.status);
  return said;
}

const query = (parameters) => {
  const given = Object.entries(parameters ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

export const get = (path, parameters) => call("GET", `/api/v1${path}${query(parameters)}`);
export const post = (path, body) => call("POST", `/api/v1${path}`, body);
export const put = (path, body) => call("PUT", `/api/v1${path}`, body);
export const segment = encodeURIComponent;

/** Who is signed in. */
export async function enter() {
  const said = await call("GET", "/console/session");
  csrf = said.csrf;
  Object.assign(session, said);
}

export async function leave() {
  await call("POST", "/console/logout");
  location.href = "/console/login";
}

/** Calls back with every overview that the server sends, and with null while none comes. */
export function follow(seen) {
  const source = new EventSource("/api/v1/overview/stream");
  source.addEventListener("overview", (event) => seen(JSON.parse(event.data)));
  source.onerror = () => seen(null);
  return () => source.close();
}
