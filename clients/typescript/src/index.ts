/** A client of an auth-collections service: `createClient`, its errors, and the types that a project's schema needs. */
export type * from "./accounts.js";
export type * from "./base.js";
export { raw } from "./bodies.js";
export { type ClientOptions, createClient, variant } from "./client.js";
export {
  ConfigurationError, ConflictError, CredentialError, ForbiddenError, NotFoundError, type Outcome, RateLimitError, RequestError,
  ServiceError, TransportError, UnavailableError, ValidationError, type Violation,
} from "./errors.js";
export type * as Keys from "./keys.js";
export type {
  AnySchema, Batching, Change, Changed, Collection, CreateOf, DataOf, Document, Imported, Page, PopulatePath, Query, Recorder, Related, Result, Untyped,
} from "./schema.js";
export type { Listener, SessionEvent, Tokens } from "./sessions.js";
export { memory, type Session, type SessionStore, webStorage } from "./stores.js";
export type { CallOptions, LogEntry } from "./transport.js";
export type { FileOptions } from "./bodies.js";
