/** Sends calls: headers, attempts and waits, and the answer as JSON or as an error. It knows no sessions and no collections. */
import { ConfigurationError, errorOf, sentence, ServiceError, TransportError } from "./errors.js";
import { loadOnce } from "./loading.js";
import type { Progress } from "./progress.js";

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds of one attempt: 30,000, and 600,000 for forms and streams. */
  timeout?: number;
  retries?: number;
  /** False leaves out the `Idempotency-Key`, and a write that needs one is not sent again. */
  idempotent?: boolean;
  headers?: Record<string, string>;
}
export interface LogEntry {
  type: "answer" | "failure";
  method: string;
  path: string;
  attempt: number;
  status: number;
  ms: number;
  /** Milliseconds until the next attempt; 0 where there is none. */
  wait: number;
  code: string | null;
  request_id: string | null;
}
export interface TransportOptions {
  url: string;
  /** The publishable key `acp_…`, or on a server the secret key `ac_…`. */
  key: string;
  timeout?: number;
  retries?: number;
  /** The longest `Retry-After`, in milliseconds, that a call waits for. */
  maxRetryWait?: number;
  idempotent?: boolean;
  headers?: Record<string, string>;
  fetch?: typeof fetch;
  log?: (entry: LogEntry) => void;
}
/** `read` and `same` may be sent again, `key` under an Idempotency-Key, `once` never. */
export type Safety = "read" | "same" | "key" | "once";
export interface Call {
  method: string;
  path: string;
  query?: Record<string, unknown> | undefined;
  json?: unknown;
  body?: BodyInit | undefined;
  headers?: Record<string, string>;
  safety?: Safety;
  /** `key`: the call goes without the user's token. */
  as?: "key" | "user";
  /** The service takes an Idempotency-Key of guests here, too. */
  guestKeys?: boolean;
  /** The answer's body is returned as a stream. */
  stream?: boolean;
  onProgress?: Progress | undefined;
}
export interface Answer {
  status: number;
  // The answer of a call is given its type where the call is made.
  body: any;
  etag: string | null;
  request_id: string | null;
}
/** A token and its user. */
export interface Held {
  token: string;
  user: string;
}
export interface Credential {
  find(signal?: AbortSignal): Promise<Held | null>;
  /** A newer token of the same user, or null. */
  renew(held: Held): Promise<Held | null>;
}

export const VERSION = "0.1.0";
const ERROR_BYTES = 65_536;
const LONG_MS = 600_000;
const KEY = "idempotency-key";
const progress = loadOnce(() => import("./progress.js"));
const isNode = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
const isServerside = isNode || "Deno" in globalThis;
/** A page, or a worker of one: a place where every visitor can read the key. */
export const isPage =
  typeof document !== "undefined" || ("WorkerGlobalScope" in globalThis && "location" in globalThis && !isServerside);

export const randomHex = (bytes = 16): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (each) => each.toString(16).padStart(2, "0")).join("");
const fail = (code: string, message: string, isFinal = false, status = 0): TransportError =>
  Object.assign(new TransportError({ status, code, message }), { isFinal });
const aborted = (isFinal?: boolean): TransportError => fail("aborted", "The call was aborted", isFinal);

/** Rejects with the code `aborted` as soon as the signal does, and leaves no timer. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(aborted());
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });

/** The query string with its `?`; undefined and null are left out. */
export function queryString(query: Record<string, unknown> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]));
  return pairs.length ? `?${text}` : "";
}

/** The sender of a project's calls, which many clients may share. */
export interface Transport {
  url: string;
  key: string;
  /** The answer of a call. Raises a ServiceError, whose `outcome` says if a write may have happened. */
  send(call: Call, options: CallOptions, credential: Credential): Promise<Answer>;
}

export function makeTransport(settings: TransportOptions): Transport {
  const { key, log, maxRetryWait = 10_000 } = settings, url = `${settings.url}`.replace(/\/+$/, "");
  const isGuest = key?.startsWith("acp_");
  if (!/^https?:\/\/[^/]/.test(url)) throw new ConfigurationError("url is the address of the service: https://…");
  if (!key || (isPage && !isGuest)) throw new ConfigurationError("key: a page takes the publishable one, acp_…");

  async function send(call: Call, options: CallOptions, credential: Credential): Promise<Answer> {
    const { method, path, json, body = json === undefined ? null : JSON.stringify(json) } = call, { signal } = options;
    const { retries = settings.retries ?? 3, idempotent = settings.idempotent ?? true } = options;
    const timeout = options.timeout ?? (call.body || call.stream ? LONG_MS : settings.timeout ?? 30_000);
    const isSpent = body instanceof ReadableStream;
    const headers: Record<string, string> = {
      ...(json !== undefined && { "content-type": "application/json" }),
      ...(isServerside && { "user-agent": `auth-collections-client/${VERSION}` }),
      ...settings.headers,
      ...call.headers,
      ...options.headers,
    };
    let safety = call.safety ?? (method === "GET" ? "read" : "once"), wasLost = false, wasRenewed = false;
    if (!path.startsWith("/")) throw new ConfigurationError("A path begins with /");
    for (let attempt = 0; ; attempt++) {
      const begin = Date.now();
      const note = (type: LogEntry["type"], status: number, code: string | null, request_id: string | null, wait = 0) =>
        log?.({ type, method, path: path.split("?")[0]!, attempt, status, ms: Date.now() - begin, wait, code, request_id });
      let held: Held | null = null;
      try {
        held = call.as === "key" ? null : await credential.find();
        if (safety === "key" && !headers[KEY]) {
          // A write that cannot have a key is not sent again.
          if (!idempotent || (isGuest && !held && !call.guestKeys)) safety = "once";
          else headers[KEY] = randomHex();
        }
        if (signal?.aborted) throw aborted(true);
        // The service goes by a secret key first: beside a user's token it would give the user a server's rights.
        const keyed = (!held || isGuest) && { "x-api-key": key }, signed = held && { authorization: `Bearer ${held.token}` };
        const init = { method, headers: { ...keyed, ...headers, ...signed }, body };
        const answer = await exchange(call, init, timeout, signal);
        note("answer", answer.status, null, answer.request_id);
        return answer;
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        const { status, code, request_id } = error, isTransport = error instanceof TransportError;
        const mayRenew = held && status === 401 && code === "invalid_token" && !wasRenewed && !isSpent;
        const wait = pause(error, safety, attempt < retries && !isSpent ? attempt : -1);
        note(isTransport ? "failure" : "answer", status, code, request_id, wait ?? 0);
        if (mayRenew && (wasRenewed = true) && (await credential.renew(held!))) {
          attempt--;
          continue;
        }
        if (wasLost && method === "DELETE" && status === 404) return { status: 204, body: null, etag: null, request_id };
        const isDone = safety === "read" || method === "GET" || (error as TransportError).isFinal;
        if (!isDone && (isTransport || [500, 502, 504].includes(status) || code === "unavailable")) wasLost = true;
        // Under a key a refusal proves that no earlier attempt was stored: its answer would have been replayed.
        else if (status < 500 && status !== 429 && !isTransport && headers[KEY]) wasLost = false;
        error.outcome = wasLost ? "unknown" : "refused";
        if (wait === null) throw error;
        await sleep(wait, signal).catch((stop) => {
          throw Object.assign(stop, { outcome: error.outcome });
        });
      }
    }
  }

  async function exchange(call: Call, init: RequestInit, timeout: number, signal?: AbortSignal): Promise<Answer> {
    const timer = new AbortController(), alarm = setTimeout(() => timer.abort(), timeout), ask = settings.fetch ?? fetch;
    const more = { redirect: "manual", signal: signal ? AbortSignal.any([signal, timer.signal]) : timer.signal, duplex: "half" } as RequestInit;
    try {
      return await read(await (call.onProgress ? (await progress()).sendByXhr : ask)(url + call.path + queryString(call.query), { ...init, ...more }, call.onProgress), call);
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      if (signal?.aborted) throw aborted();
      if (timer.signal.aborted) throw fail("timeout", "The service did not answer in time");
      const { code = "" } = ((error as Error).cause ?? {}) as { code?: string };
      throw fail("network", `The service did not answer${isPage ? ": do its CORS_ORIGINS name this page?" : ` ${code}`}`);
    } finally {
      clearTimeout(alarm);
    }
  }

  /** Milliseconds until the next attempt, or null where there is none. */
  function pause(error: ServiceError, safety: Safety, attempt: number): number | null {
    const { status, code, retry_after } = error, seconds = retry_after ?? 0, spread = Math.min(10_000, 250 * 2 ** attempt);
    if (attempt < 0 || code === "aborted" || (error as TransportError).isFinal) return null;
    if (status === 429 || code === "busy")
      return seconds * 1000 > maxRetryWait ? null : seconds * 1000 + Math.random() * Math.max(spread, seconds * 500);
    const mayHelp = error instanceof TransportError || [502, 504].includes(status) || code === "unavailable" || code === "upload_lost";
    return mayHelp && safety !== "once" ? Math.random() * spread : null;
  }
  return { url, key, send };
}

async function read(answer: Response, { stream }: Call): Promise<Answer> {
  const { status, headers, ok } = answer, etag = headers.get("etag"), request_id = headers.get("x-request-id");
  if (status === 204 || (stream && ok)) return { status, body: stream ? answer.body : null, etag, request_id };
  const isRedirect = answer.type === "opaqueredirect" || (status >= 300 && status < 400);
  const isJson = /^application\/(\w+\+)?json/.test(headers.get("content-type") ?? "");
  let body: any;
  try {
    if (isJson && !isRedirect) body = JSON.parse(ok ? await answer.text() : await readStart(answer));
  } catch (error) {
    // A cut body is a failure of the network; a text that is no JSON is none of the service's answers.
    if (!(error instanceof SyntaxError)) throw error;
  }
  if (ok && body !== undefined) return { status, body, etag, request_id };
  if (!answer.bodyUsed) await answer.body?.cancel();
  if (body?.detail === undefined)
    throw fail("bad_answer", `The answer (${status}) is none of the service`, isRedirect, status);
  const told = headers.get("retry-after"), retry_after = told && Number.isFinite(+told) ? +told : null;
  throw errorOf({ status, code: String(body.code), message: sentence(body.detail), body, request_id, retry_after }, etag);
}

/** The text of an error, of which so many bytes are read. */
async function readStart(answer: Response): Promise<string> {
  const decoder = new TextDecoder(), reader = answer.body!.getReader();
  let text = "";
  for (let size = 0; size <= ERROR_BYTES; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text;
}
