/** The types of `auth`, `users` and the client itself. */
import type { Id, Time } from "./base.js";
import type { FileOptions } from "./bodies.js";
import type { AllQuery, AnySchema, Batching, Chosen, Collection, Counted, CountQuery, Counts, FieldPath, PopulatePath, Query, Result, Shown, Totals } from "./schema.js";
import type { Listener, Tokens } from "./sessions.js";
import type { Session } from "./stores.js";
import type { CallOptions } from "./transport.js";

export interface User<D> {
  id: Id<"users">;
  /** Present where the caller may read it: in one's own account, and for servers. An anonymous user has null. */
  email: string | null;
  anonymous?: boolean;
  data: D;
  created_at: Time;
  updated_at?: Time;
  email_verified?: boolean;
  roles?: string[];
  disabled?: boolean;
  claims?: Record<string, unknown>;
  last_sign_in_at?: Time;
  /** Present in the result of `auth.user` and `auth.updateUser`, for `if_match`. */
  version?: number;
}
export interface SignedIn<D> {
  next: null;
  user: User<D>;
  /** Good with the code of the mail that proves a new user's address. */
  flow_id?: string;
  factor?: Factor;
  /** Ten codes, shown once, of the first factor. */
  recovery_codes?: string[];
}
/** The first factor was right: `loginFactor(flow_id, proof)` goes on. */
export interface FactorNeeded {
  next: "factor";
  flow_id: string;
  methods: ("totp" | "recovery_code" | "passkey")[];
  expires_in: number;
}
/** A factor must be added: `addTotp({flow_id})`, or `passkeys(ac).add({flow_id})`. */
export interface EnrolmentNeeded {
  next: "enrol";
  flow_id: string;
}
/** A mail is under way: `confirm({flow_id, code})` goes on. */
export interface MailSent {
  next: "mail";
  flow_id: string;
  expires_in: number;
}
export type SignIn<D> = SignedIn<D> | FactorNeeded | EnrolmentNeeded | MailSent;
export type FactorProof = { totp: string } | { recovery_code: string } | { credential: unknown };
export type MailProof = { flow_id: string; code: string } | { token: string };
export interface Factor {
  id: string;
  type: "totp" | "passkey";
  name: string;
  created_at: Time;
  last_used_at: Time | null;
}
export interface OpenSession {
  id: string;
  created_at: Time;
  last_used_at: Time;
  expires_at: Time;
  ip: string;
  user_agent: string;
  aal: number;
  amr: string[];
  current: boolean;
}
export interface Identity {
  id: string;
  provider: string | null;
  email: string | null;
  created_at: Time | null;
  last_used_at: Time | null;
}
export interface Mailed {
  flow_id: string;
  expires_in: number;
}
type MailOptions = { redirect_to?: string; locale?: string } & CallOptions;
type RedirectOptions = { redirect_to?: string; stay?: boolean } & CallOptions;

export interface AuthCalls<S extends AnySchema> {
  signup(fields: { email: string; password: string } & S["users"]["create"], options?: FileOptions): Promise<SignIn<S["users"]["data"]>>;
  /** A user without an address, whose data are of no form: files come later. */
  signupAnonymous(data?: Partial<S["users"]["create"]>, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  /** Gives an anonymous user an account; its id, its data and its documents stay. */
  upgrade(email: string, password?: string, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  /** By the address; or by the name of the user, where the project has them. */
  login(who: string | { username: string }, password: string, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  loginFactor(flow_id: string, proof: FactorProof, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  loginByMail(email: string, options?: { create?: boolean } & MailOptions): Promise<MailSent>;
  confirm(proof: MailProof & { password?: string }, options?: CallOptions): Promise<
    SignIn<S["users"]["data"]> | { next?: never; email_verified: true } | { next?: never; email: string; waiting_for: "new" | "old" | null }>;
  verifyEmail(email: string, options?: MailOptions): Promise<Mailed>;
  forgotPassword(email: string, options?: MailOptions): Promise<Mailed>;
  resetPassword(proof: MailProof & { password: string; factor?: FactorProof }, options?: CallOptions): Promise<void>;
  changeEmail(email: string, options?: MailOptions): Promise<Mailed>;
  methods(options?: CallOptions): Promise<{ password: boolean; email: boolean; passkey: boolean; usernames?: boolean; anonymous?: boolean; providers: { id: string; name: string }[] }>;
  /** Goes to the provider, unless `stay`; returns the address. */
  loginProvider(provider: string, options?: RedirectOptions): Promise<string>;
  completeRedirect(url?: string, options?: { allowTokenInUrl?: boolean } & CallOptions): Promise<
    SignIn<S["users"]["data"]> | { next: null; identity: Identity } | null>;
  loginIdToken: {
    begin(provider: string, options?: CallOptions): Promise<{ flow_id: string; nonce: string }>;
    finish(flow_id: string, id_token: string, name?: string, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  };
  user(options?: CallOptions): Promise<User<S["users"]["data"]>>;
  updateUser(fields: Partial<S["users"]["create"]>, options?: { if_match?: number | string } & FileOptions): Promise<User<S["users"]["data"]>>;
  /** `old` is null for a user without a password. */
  changePassword(old: string | null, password: string, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  deleteUser(options?: CallOptions): Promise<void>;
  stepUp(proof: { password: string } | FactorProof, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  sessions(options?: CallOptions): Promise<OpenSession[]>;
  endSession(id: string, options?: CallOptions): Promise<void>;
  endOtherSessions(options?: CallOptions): Promise<void>;
  events(query?: Record<string, unknown>, options?: CallOptions): Promise<Record<string, unknown>>;
  factors(options?: CallOptions): Promise<{ factors: Factor[]; recovery_codes_left: number }>;
  addTotp(options?: { name?: string; flow_id?: string } & CallOptions): Promise<{ id: string; secret: string; uri: string }>;
  confirmTotp(id: string, code: string, flow_id?: string, options?: CallOptions): Promise<SignIn<S["users"]["data"]>>;
  renameFactor(id: string, name: string, options?: CallOptions): Promise<Factor>;
  removeFactor(id: string, options?: CallOptions): Promise<void>;
  recoveryCodes(options?: CallOptions): Promise<string[]>;
  identities(options?: CallOptions): Promise<Identity[]>;
  linkProvider(provider: string, options?: RedirectOptions): Promise<string>;
  confirmLink(code: string, options?: CallOptions): Promise<Identity>;
  unlink(id: string, options?: CallOptions): Promise<void>;
  session(): Promise<Session | null>;
  /** The claims of the session's token, which are not verified. */
  claims(): Promise<Record<string, any> | null>;
  setSession(tokens: Tokens): Promise<Session>;
  refresh(options?: CallOptions): Promise<Session | null>;
  logout(options?: CallOptions): Promise<void>;
  onChange(listener: Listener): () => void;
}

export interface UserPage<T> extends Totals {
  users: T[];
}
export interface UserCalls<S extends AnySchema> {
  list<const P extends PopulatePath<S, "users"> = never, const F extends FieldPath<S, "users"> = never, const K extends Counted<S, "users"> = never>(query?: Query<S, "users", P, F, K>, options?: CallOptions): Promise<UserPage<User<Chosen<S, "users", P, F>> & Counts<K>>>;
  each<const P extends PopulatePath<S, "users"> = never, const F extends FieldPath<S, "users"> = never, const K extends Counted<S, "users"> = never>(query?: AllQuery<S, "users", P, F, K>, options?: CallOptions): AsyncGenerator<User<Chosen<S, "users", P, F>> & Counts<K>>;
  first<const P extends PopulatePath<S, "users"> = never, const F extends FieldPath<S, "users"> = never, const K extends Counted<S, "users"> = never>(query?: AllQuery<S, "users", P, F, K>, options?: CallOptions): Promise<User<Chosen<S, "users", P, F>> & Counts<K> | null>;
  count(query?: CountQuery<S, "users">, options?: CallOptions): Promise<number>;
  get<const P extends PopulatePath<S, "users"> = never, const F extends FieldPath<S, "users"> = never, const K extends Counted<S, "users"> = never>(id: Id<"users">, options?: Shown<P, F, K> & CallOptions): Promise<User<Chosen<S, "users", P, F>> & Counts<K>>;
  setRoles(id: Id<"users">, roles: readonly string[], options?: CallOptions): Promise<{ id: string; roles: string[] }>;
}

export interface Client<S extends AnySchema> {
  readonly auth: AuthCalls<S>;
  readonly users: UserCalls<S>;
  collection<C extends keyof S["collections"] & string>(name: C): Collection<S, C>;
  /** A client of one request of a server: the same transport, another user. */
  withToken(token: string): Client<S>;
  request(method: string, path: string, options?: { query?: Record<string, unknown>; json?: unknown; body?: BodyInit } & CallOptions): Promise<any>;
  runAggregation(name: string, parameters?: Record<string, unknown>, options?: CallOptions): Promise<{ rows: Record<string, unknown>[]; limit: number }>;
  batch(record: (on: Batching<S>) => unknown, options?: { atomic?: boolean } & CallOptions): Promise<Result[]>;
  /** Each URL with its signed one, which is good for so many seconds. */
  signUrls(urls: readonly string[], expires_in: number, options?: CallOptions): Promise<Record<string, string>>;
  close(): void;
}
