/** Requests to the Admin API. A session that ended and a confirmation that is due are asked for here, and the request
 * is repeated, so that no page knows of either. */
import { askConfirmation, askSignIn } from "./session.js";

const BASE = new URL("../admin/v1/", document.baseURI);
const PATIENCE_MS = 30_000;

/** @typedef {{ loc: (string | number)[], msg: string }} Fault */
/** `isRead`: a POST that changes nothing; it is repeated after a sign-in.
 * @typedef {{ method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, isRead?: boolean,
 *   query?: Record<string, string | number | null> }} Options */
/** @typedef {{ body: any, etag: string }} Answer */

export class ApiError extends Error {
  /** @param {number} status 0 where no answer came. @param {any} body @param {Headers} [headers] */
  constructor(status, body, headers) {
    super(describe(status, body));
    this.status = status;
    this.body = body;
    this.code = /** @type {string} */ (body?.code ?? "");
    this.needs = /** @type {string} */ (body?.needs ?? "");
    this.faults = /** @type {Fault[]} */ (Array.isArray(body?.detail) ? body.detail : []);
    this.requestId = headers?.get("x-request-id") ?? "";
    this.retryAfter = Number(headers?.get("retry-after") ?? 0);
  }

  /** True for what may pass by itself: the service is away, or busy. */
  get isPassing() {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

/** @param {number} status @param {any} body @returns {string} */
function describe(status, body) {
  if (status === 0) return "The service cannot be reached.";
  if (typeof body?.detail === "string") return body.detail;
  return Array.isArray(body?.detail) ? "Some fields need a change." : `The service answered with ${status}.`;
}

/** @param {string} path Below /admin/v1/. @param {Options} options @returns {Promise<Response>} */
async function send(path, options) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(options.query ?? {}))
    if (value !== "" && value !== null) url.searchParams.set(name, String(value));
  const { body } = options;
  const isBare = body === undefined || body instanceof FormData || body instanceof Blob;
  const headers = { ...(isBare ? {} : { "content-type": "application/json" }), ...options.headers };
  const deadline = AbortSignal.timeout(PATIENCE_MS);
  try {
    return await fetch(url, {
      method: options.method ?? "GET",
      headers,
      body: isBare ? body : JSON.stringify(body),
      signal: options.signal ? AbortSignal.any([options.signal, deadline]) : deadline,
      cache: "no-store",
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, null);
  }
}

/** @param {Response} response @param {Options} options @returns {Promise<Answer>} */
async function read(response, options) {
  const body = response.status === 204 ? null : await response.json().catch((error) => {
    // JSON that was cut short is no answer.
    if (!response.ok || !response.headers.get("content-type")?.includes("json")) return null;
    throw options.signal?.aborted ? error : new ApiError(0, null);
  });
  if (!response.ok) throw new ApiError(response.status, body, response.headers);
  return { body, etag: response.headers.get("etag") ?? "" };
}

/** The answer's JSON. Nothing is asked of the operator: for the sign-in itself.
 * @param {string} path @param {Options} [options] @returns {Promise<any>} */
export async function callOnce(path, options = {}) {
  return (await read(await send(path, options), options)).body;
}

/** The options of a call, whose body is what the Admin API takes there.
 * @template {string} Path @template {string} Method
 * @typedef {Omit<Options, "method" | "body"> & { method?: Method, body?: import("admin-api").Sent<Path, Method> }} OptionsOf */

/** The answer with its ETag, after a sign-in or a confirmation where one is needed. Raises ApiError.
 * @template {string} Path @template {string} [Method="GET"]
 * @param {Path} path @param {OptionsOf<Path, Method>} [options]
 * @returns {Promise<{ body: import("admin-api").Answer<Path, Method>, etag: string }>} */
export async function exchange(path, options = {}) {
  try {
    return await read(await send(path, options), options);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "confirmation_required") await askConfirmation(error);
    else if (error.code === "operator_required") await signInFor(options, error);
    else throw error;
    return exchange(path, options);
  }
}

/** The answer's JSON; else as `exchange`. @template {string} Path @template {string} [Method="GET"]
 * @param {Path} path @param {OptionsOf<Path, Method>} [options] @returns {Promise<import("admin-api").Answer<Path, Method>>} */
export async function call(path, options = {}) {
  return (await exchange(path, options)).body;
}

/** Another operator may have signed in: a write that carries neither version nor key is not repeated unasked.
 * @param {Options} options @param {ApiError} error */
async function signInFor({ method = "GET", headers = {}, isRead = false }, error) {
  await askSignIn(error);
  if (method !== "GET" && method !== "PATCH" && !isRead && !headers["idempotency-key"])
    throw new ApiError(401, { detail: "You are signed in again. Nothing was changed yet: repeat it." });
}

/** Sends a file, however long it takes. The browser shows no progress of a `fetch`, so this is an XMLHttpRequest.
 * @param {string} path @param {Blob} file
 * @param {{ type: string, query: Record<string, string>, signal: AbortSignal, progress: (sent: number) => void }} options
 * @returns {Promise<any>} */
export function upload(path, file, { type, query, signal, progress }) {
  const url = new URL(path, BASE);
  url.search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "")).toString();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", url);
    request.responseType = "json";
    request.setRequestHeader("content-type", type);
    request.upload.onprogress = ({ loaded }) => progress(loaded);
    request.onerror = () => reject(new ApiError(0, null));
    request.onabort = () => reject(new Error("Cancelled."));
    request.onload = () => (request.status < 400 ? resolve(request.response) : reject(new ApiError(request.status, request.response)));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
