/** Every error of the client. The class is chosen by the status of the answer, so an unknown code has its class, too. */

/** One broken rule of a 422: `loc` begins with body, query, path or header. */
export interface Violation {
  loc: (string | number)[];
  msg: string;
  type: string;
}
/** `unknown`: a write was sent and may have happened. `refused`: it did not happen. */
export type Outcome = "unknown" | "refused";

export interface Fault {
  status?: number;
  code: string;
  message: string;
  body?: unknown;
  request_id?: string | null;
  retry_after?: number | null;
}

/** The base of all that a call throws. `status` is 0 where there was no answer. */
export class ServiceError extends Error {
  readonly status!: number;
  readonly code!: string;
  /** The service's own answer, and nothing of the request. */
  readonly body!: unknown;
  readonly request_id!: string | null;
  /** Seconds after which the service asks the caller to come back. */
  readonly retry_after!: number | null;
  outcome: Outcome = "refused";
  /** Documents that `updateMany` or `deleteMany` had changed before it failed. */
  changed?: number;

  constructor({ message, ...fault }: Fault) {
    super(message);
    Object.assign(this, { name: new.target.name, status: 0, body: null, request_id: null, retry_after: null }, fault);
  }
}
/** 400, 405, 408, 413, 415, 416, 426, 431, and the `svc-error` of a sign-in. */
export class RequestError extends ServiceError {}
/** 401. */
export class CredentialError extends ServiceError {}
/** 403. */
export class ForbiddenError extends ServiceError {}
/** 404. */
export class NotFoundError extends ServiceError {}
/** 409 and 412. */
export class ConflictError extends ServiceError {
  /** The stored version, of 412 `version_conflict`. */
  current?: number;
  /** The number of documents that were found, of 409 `count_changed`. */
  matched?: number;
}
/** 422. */
export class ValidationError extends ServiceError {
  get errors(): Violation[] {
    const { detail } = this.body as { detail?: unknown };
    return Array.isArray(detail) ? detail : [];
  }
  /** The first message about a place: `at("title")` finds `["body", "data", "title"]` and `["body", "title"]`. */
  at(...path: (string | number)[]): string | undefined {
    const wanted = JSON.stringify(path);
    const found = this.errors.find(({ loc }) => [0, 1, 2].some((from) => JSON.stringify(loc.slice(from)) === wanted));
    return found?.msg;
  }
}
/** 429. */
export class RateLimitError extends ServiceError {}
/** 5xx. */
export class UnavailableError extends ServiceError {}
/** No answer, or none of the service: `network`, `timeout`, `aborted`, `bad_answer`. */
export class TransportError extends ServiceError {
  /** True where nothing was done and another attempt would not help: a redirect, or an abort before the call was sent. */
  declare isFinal?: boolean;
}
/** A misuse that is found before anything is sent. */
export class ConfigurationError extends Error {
  override name = "ConfigurationError";
}

const CLASSES: Record<number, typeof ServiceError> = {
  401: CredentialError,
  403: ForbiddenError,
  404: NotFoundError,
  409: ConflictError,
  412: ConflictError,
  422: ValidationError,
  429: RateLimitError,
};

/** The version that an ETag names; undefined where there is none. */
export function versionOf(etag: string | null | undefined): number | undefined {
  const found = /^"v(\d+)"$/.exec(etag ?? "");
  return found ? Number(found[1]) : undefined;
}

/** The error of an answer with that status and body, which has `detail` and `code`. */
export function errorOf(fault: Fault & { status: number }, etag?: string | null): ServiceError {
  const { status } = fault;
  const error = new (CLASSES[status] ?? (status < 500 ? RequestError : UnavailableError))(fault);
  if (error instanceof ConflictError) {
    const current = versionOf(etag), { matched } = fault.body as { matched?: number };
    if (current) error.current = current;
    if (matched !== undefined) error.matched = matched;
  }
  return error;
}

/** One sentence of a 422, or the detail itself. */
export function sentence(detail: unknown): string {
  const lines = Array.isArray(detail) ? (detail as Violation[]).map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`) : [];
  return lines.length ? lines.join("; ") : String(detail);
}
