/** Sends calls: headers, attempts and waits, and the answer as JSON or as an error. It knows no sessions and no collections. */
import { ConfigurationError, CredentialError, errorOf, NotFoundError, sentence, ServiceError, TransportError } from "./errors.js";
import { type Progress, sendByXhr } from "./progress.js";

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
  type: "answer" | "failure" | "wait";
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
const SAFE_CODES = ["unavailable", "upload_lost"];
const isNode = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;
const isServerside = isNode || "Deno" in globalThis;
/** A page, or a worker of one: a place where every visitor can read the key. */
export const isPage =
  typeof document !== "undefined" || ("WorkerGlobalScope" in globalThis && "location" in globalThis && !isServerside);

export const randomHex = (bytes = 16): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (each) => each.toString(16).padStart(2, "0")).join("");
const isRedirect = (answer: Response): boolean => answer.type === "opaqueredirect" || (answer.status >= 300 && answer.status < 400);
const aborted = (isFinal = false): TransportError =>
  Object.assign(new TransportError({ code: "aborted", message: "The call was aborted" }), { isFinal });

/** Rejects with the code `aborted` as soon as the signal does, and leaves no timer. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted());
    const stop = () => {
      clearTimeout(timer);
      reject(aborted());
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** The query string with its `?`; undefined and null are left out. */
export function queryString(query: Record<string, unknown> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, value instanceof Date ? value.toISOString() : String(value)]));
  return pairs.length ? `?${text}` : "";
}

/** Reads at most `limit` bytes, or returns null where there are more. */
async function readText(answer: Response, limit: number): Promise<string | null> {
  if (limit === Infinity || !answer.body) return answer.text();
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let text = "", size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.byteLength;
    if (size > limit) {
      await reader.cancel();
      return null;
    }
    text += decoder.decode(value, { stream: true });
  }
}

interface Prepared {
  call: Call;
  url: string;
  body: BodyInit | undefined;
  headers: Record<string, string>;
  safety: Safety;
  isSpent: boolean;
  timeout: number;
  retries: number;
  signal: AbortSignal | undefined;
}

export class Transport {
  readonly url: string;
  readonly key: string;
  readonly isGuestKey: boolean;
  constructor(private readonly options: TransportOptions) {
    const { url, key } = options;
    this.url = url.replace(/\/+$/, "");
    this.key = key;
    this.isGuestKey = key.startsWith("acp_");
    if (!/^https?:\/\/[^/]/.test(url)) throw new ConfigurationError("url is the address of the service: https://…");
    if (isPage && !this.isGuestKey) throw new ConfigurationError("A page takes the publishable key, which begins with acp_");
  }

  /** The answer of the call. Raises a ServiceError, whose `outcome` says if a write may have happened. */
  async send(call: Call, options: CallOptions, credential: Credential): Promise<Answer> {
    const prepared = this.prepare(call, options);
    let wasLost = false, wasRenewed = false;
    for (let attempt = 0; ; ) {
      let held: Held | null = null;
      try {
        held = call.as === "key" ? null : await credential.find(options.signal);
        this.giveKey(prepared, held);
        if (options.signal?.aborted) throw aborted(true);
        return await this.attempt(prepared, held, attempt);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        if (held && error instanceof CredentialError && error.code === "invalid_token" && !wasRenewed && !prepared.isSpent) {
          wasRenewed = true;
          if (await credential.renew(held)) continue;
        }
        if (wasLost && call.method === "DELETE" && error instanceof NotFoundError) return { status: 204, body: null, etag: null };
        const wait = this.wait(error, prepared, attempt);
        const isRefusal = error.status < 500 && error.status !== 429 && !(error instanceof TransportError);
        // Under a key a refusal proves that no earlier attempt was stored: its answer would have been replayed.
        if (isUnknown(error, prepared)) wasLost = true;
        else if (isRefusal && "idempotency-key" in prepared.headers) wasLost = false;
        error.outcome = wasLost ? "unknown" : "refused";
        if (wait === null) throw error;
        this.log(prepared, "wait", { attempt, wait, code: error.code });
        try {
          await sleep(wait, options.signal);
        } catch (stop) {
          (stop as ServiceError).outcome = error.outcome;
          throw stop;
        }
        attempt++;
      }
    }
  }

  private prepare(call: Call, options: CallOptions): Prepared {
    if (!call.path.startsWith("/")) throw new ConfigurationError("A path begins with /");
    const { timeout, retries, idempotent = this.options.idempotent ?? true, headers, signal } = options;
    const isJson = call.json !== undefined;
    const safety = call.safety ?? (call.method === "GET" ? "read" : "once");
    return {
      call,
      url: this.url + call.path + queryString(call.query),
      body: isJson ? JSON.stringify(call.json) : call.body,
      headers: {
        "x-api-key": this.key,
        ...(isJson && { "content-type": "application/json" }),
        ...(isServerside && { "user-agent": `auth-collections-client/${VERSION}` }),
        ...this.options.headers,
        ...call.headers,
        ...headers,
      },
      safety: safety === "key" && !idempotent ? "once" : safety,
      isSpent: call.body instanceof ReadableStream,
      timeout: timeout ?? (call.body || call.stream ? 600_000 : this.options.timeout ?? 30_000),
      retries: retries ?? this.options.retries ?? 3,
      signal,
    };
  }

  /** Gives the write its key, once, where the service takes one of this caller. */
  private giveKey(prepared: Prepared, held: Held | null): void {
    if (prepared.safety !== "key" || prepared.headers["idempotency-key"]) return;
    if (this.isGuestKey && !held && !prepared.call.guestKeys) prepared.safety = "once";
    else prepared.headers["idempotency-key"] = randomHex();
  }

  private async attempt(prepared: Prepared, held: Held | null, attempt: number): Promise<Answer> {
    const { call, headers, signal } = prepared;
    const timer = new AbortController(), begin = Date.now();
    const timeout = setTimeout(() => timer.abort(), prepared.timeout);
    const init: RequestInit & { duplex?: string } = {
      method: call.method,
      headers: held ? { ...headers, authorization: `Bearer ${held.token}` } : headers,
      body: prepared.body ?? null,
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, timer.signal]) : timer.signal,
      ...(prepared.isSpent && { duplex: "half" }),
    };
    const note = (type: LogEntry["type"], more: Partial<LogEntry>) => this.log(prepared, type, { attempt, ms: Date.now() - begin, ...more });
    try {
      const answer = await (call.onProgress ? sendByXhr : this.options.fetch ?? fetch)(prepared.url, init, call.onProgress);
      const read = await this.read(answer, call);
      note("answer", { status: answer.status, request_id: answer.headers.get("x-request-id") });
      return read;
    } catch (problem) {
      const error = problem instanceof ServiceError ? problem : failure(problem, signal, timer.signal);
      note(error.status ? "answer" : "failure", { status: error.status, code: error.code, request_id: error.request_id });
      throw error;
    } finally {
      clearTimeout(timeout);
    }
  }

  private async read(answer: Response, call: Call): Promise<Answer> {
    const { status, headers } = answer, etag = headers.get("etag");
    if (status === 204) return { status, body: null, etag };
    if (call.stream && answer.ok) return { status, body: answer.body, etag };
    const isJson = /^application\/(\w+\+)?json/.test(headers.get("content-type") ?? "");
    const text = isRedirect(answer) || (answer.ok && !isJson) ? null : await readText(answer, answer.ok ? Infinity : ERROR_BYTES);
    let body: any;
    try {
      body = isJson && text !== null ? JSON.parse(text) : undefined;
    } catch {
      // The answer was cut, or is none of the service's.
    }
    if (answer.ok && body !== undefined) return { status, body, etag };
    if (!answer.bodyUsed) await answer.body?.cancel();
    if (!answer.ok && body?.detail !== undefined && !isRedirect(answer)) {
      const seconds = Number(headers.get("retry-after") ?? NaN);
      const retry_after = Number.isFinite(seconds) ? seconds : null;
      const request_id = headers.get("x-request-id") ?? body.request_id ?? null;
      throw errorOf({ status, code: String(body.code), message: sentence(body.detail), body, request_id, retry_after }, etag);
    }
    const error = new TransportError({ status, code: "bad_answer", message: `The answer (${status}) is none of the service` });
    error.isFinal = isRedirect(answer);
    throw error;
  }

  /** Milliseconds until the next attempt, or null where there is none. */
  private wait(error: ServiceError, { safety, isSpent, retries }: Prepared, attempt: number): number | null {
    if (attempt >= retries || isSpent || error.code === "aborted" || (error as TransportError).isFinal) return null;
    const spread = Math.min(10_000, 250 * 2 ** attempt), seconds = error.retry_after ?? 0;
    if (error.status === 429 || error.code === "busy") {
      if (seconds * 1000 > (this.options.maxRetryWait ?? 10_000)) return null;
      return seconds * 1000 + Math.random() * Math.max(spread, seconds * 500);
    }
    const mayHelp = error instanceof TransportError || [502, 504].includes(error.status) || SAFE_CODES.includes(error.code);
    return mayHelp && safety !== "once" ? Math.random() * spread : null;
  }

  private log({ call }: Prepared, type: LogEntry["type"], entry: Partial<LogEntry>): void {
    const path = call.path.split("?")[0]!;
    const empty = { attempt: 0, status: 0, ms: 0, wait: 0, code: null, request_id: null };
    this.options.log?.({ type, method: call.method, path, ...empty, ...entry });
  }
}

function isUnknown(error: ServiceError, { call, safety }: Prepared): boolean {
  if (safety === "read" || call.method === "GET" || (error as TransportError).isFinal) return false;
  return error instanceof TransportError || [500, 502, 504].includes(error.status) || error.code === "unavailable";
}

function failure(problem: unknown, signal: AbortSignal | undefined, timer: AbortSignal): TransportError {
  if (signal?.aborted) return aborted();
  if (timer.aborted) return new TransportError({ code: "timeout", message: "The service did not answer in time" });
  const { code } = (problem as { cause?: { code?: unknown } } | null)?.cause ?? {};
  return new TransportError({ code: "network", message: `The service did not answer${code ? ` (${String(code)})` : ""}` });
}
