/** A user's account: every way to sign in, the session, and what the user may change. */
import { type FileOptions, ifMatch, part, write } from "./bodies.js";
import type { Send } from "./client.js";
import { CredentialError, ForbiddenError } from "./errors.js";
import { readRedirect, Verifiers } from "./redirects.js";
import { type Listener, readClaims, type Sessions, type Tokens } from "./sessions.js";
import { type Call, type CallOptions, isPage } from "./transport.js";

type Body = Record<string, any>;
type Json = Record<string, unknown>;
export interface RedirectOptions extends CallOptions {
  /** One of the project's REDIRECT_URLS. */
  redirect_to?: string;
  /** True returns the address without going there. */
  stay?: boolean;
}

const BASE = "/auth-collections";

export class Auth {
  private readonly verifiers = new Verifiers();
  readonly loginIdToken = {
    begin: (provider: string, options?: CallOptions) => this.ask("POST", "/login-id-token/options", { provider }, options, { as: "key" }),
    finish: (flow_id: string, id_token: string, name?: string, options?: CallOptions) =>
      this.signIn("/login-id-token", { flow_id, id_token, name }, options),
  };

  constructor(private readonly own: Sessions, private readonly send: Send) {}

  // Ways in.

  async signup(fields: Json, options: FileOptions = {}): Promise<any> {
    this.own.require();
    const call = { method: "POST", path: `${BASE}/signup`, safety: "key", guestKeys: true, as: "key" } as const;
    return this.conclude(() => this.send({ ...call, ...write(fields, (data) => data, options) }, options));
  }
  login(email: string, password: string, options?: CallOptions): Promise<any> {
    return this.signIn("/login", { email, password }, options);
  }
  loginFactor(flow_id: string, proof: Json, options?: CallOptions): Promise<any> {
    return this.signIn("/login-factor", { flow_id, ...proof }, options);
  }
  async loginByMail(email: string, { redirect_to, locale, create, ...options }: Body = {}): Promise<any> {
    // Without a verifier the mail has a code and no link.
    const canVerify = redirect_to !== undefined || this.verifiers.canKeep;
    const code_challenge = canVerify ? (await this.verifiers.make("mail")).challenge : undefined;
    const sent = await this.ask("POST", "/login-email", { email, redirect_to, locale, create, code_challenge }, options, { as: "key" });
    return { next: "mail", ...sent };
  }
  /** A code or a link of a mail: a sign-in, or `{email_verified}`, or `{email, waiting_for}`. */
  async confirm(proof: Json, options?: CallOptions): Promise<any> {
    return this.conclude(() => this.send({ method: "POST", path: `${BASE}/confirm`, json: proof }, options));
  }

  methods(options?: CallOptions): Promise<any> {
    return this.ask("GET", "/sign-in-methods", undefined, options, { as: "key" });
  }
  async loginProvider(provider: string, { redirect_to, stay, ...options }: RedirectOptions = {}): Promise<string> {
    this.own.require();
    const { challenge, state } = await this.verifiers.make("provider");
    const query = { provider, redirect_to, code_challenge: challenge, client_state: state };
    return this.leave((await this.ask("GET", "/login-idp", undefined, options, { as: "key", query })).url, stay);
  }
  /** Ends what `loginProvider`, `linkProvider` or a mail's link began; null where the address brings nothing. The
   * parameters leave the address before anything else happens. */
  async completeRedirect(url?: string, { allowTokenInUrl, ...options }: { allowTokenInUrl?: boolean } & CallOptions = {}): Promise<any> {
    const found = readRedirect(url);
    if (!found) return null;
    if (found.token) return allowTokenInUrl ? this.takeToken(found.token, options) : null;
    const { verifier, purpose } = this.verifiers.take(found);
    if (purpose === "link") return { next: null, identity: await this.exchangeLink(found.code!, verifier, options) };
    return this.signIn("/token", { code: found.code, code_verifier: verifier }, options);
  }

  // Proofs by mail.

  verifyEmail(email: string, { redirect_to, locale, ...options }: Body = {}): Promise<any> {
    return this.ask("POST", "/verify-email", { email, redirect_to, locale }, options, { as: "key" });
  }
  forgotPassword(email: string, { redirect_to, locale, ...options }: Body = {}): Promise<any> {
    return this.ask("POST", "/forgot-password", { email, redirect_to, locale }, options, { as: "key" });
  }
  resetPassword(proof: Json, options?: CallOptions): Promise<any> {
    return this.ask("POST", "/reset-password", proof, options, { as: "key" });
  }
  changeEmail(email: string, { redirect_to, locale, ...options }: Body = {}): Promise<any> {
    return this.ask("POST", "/user/email", { email, redirect_to, locale }, options);
  }

  // The account.

  /** The record, with its `version` for `if_match`. */
  async user(options?: CallOptions): Promise<any> {
    return versioned(await this.send({ method: "GET", path: `${BASE}/user` }, options));
  }
  async updateUser(fields: Json, { if_match, ...options }: { if_match?: number | string } & FileOptions = {}): Promise<any> {
    const safety = if_match === undefined ? "same" : "once";
    const call: Call = { method: "PUT", path: `${BASE}/user`, safety, headers: ifMatch(if_match), ...write(fields, (data) => data, options) };
    const user = versioned(await this.send(call, options));
    this.own.announce("user_changed", await this.own.read());
    return user;
  }
  changePassword(old: string | null, password: string, options?: CallOptions): Promise<any> {
    return this.signIn("/user/password", { current_password: old ?? undefined, password }, options, "user");
  }
  async deleteUser(options?: CallOptions): Promise<void> {
    await this.ask("DELETE", "/user", undefined, options);
    await this.own.drop();
  }
  stepUp(proof: Json, options?: CallOptions): Promise<any> {
    return this.signIn("/user/step-up", proof, options, "user");
  }
  async sessions(options?: CallOptions): Promise<any[]> {
    return (await this.ask("GET", "/user/sessions", undefined, options)).sessions;
  }
  endSession(id: string, options?: CallOptions): Promise<any> {
    return this.remove(`/user/sessions/${part(id)}`, options);
  }
  endOtherSessions(options?: CallOptions): Promise<any> {
    return this.remove("/user/sessions", options);
  }
  events(query?: Json, options?: CallOptions): Promise<any> {
    return this.ask("GET", "/user/events", undefined, options, { query });
  }

  // Factors and identities.

  factors(options?: CallOptions): Promise<any> {
    return this.ask("GET", "/user/factors", undefined, options);
  }
  addTotp({ name, flow_id, ...options }: Body = {}): Promise<any> {
    return this.ask("POST", "/user/factors/totp", { name, flow_id }, options, { as: flow_id ? "key" : "user" });
  }
  confirmTotp(id: string, code: string, flow_id?: string, options?: CallOptions): Promise<any> {
    return this.signIn(`/user/factors/totp/${part(id)}/confirm`, { code, flow_id }, options, flow_id ? "key" : "user");
  }
  renameFactor(id: string, name: string, options?: CallOptions): Promise<any> {
    return this.ask("PATCH", `/user/factors/${part(id)}`, { name }, options, { safety: "same" });
  }
  removeFactor(id: string, options?: CallOptions): Promise<any> {
    return this.remove(`/user/factors/${part(id)}`, options);
  }
  async recoveryCodes(options?: CallOptions): Promise<string[]> {
    return (await this.ask("POST", "/user/recovery-codes", {}, options)).recovery_codes;
  }
  async identities(options?: CallOptions): Promise<any[]> {
    return (await this.ask("GET", "/user/identities", undefined, options)).identities;
  }
  async linkProvider(provider: string, { redirect_to, stay, ...options }: RedirectOptions = {}): Promise<string> {
    const { challenge, state } = await this.verifiers.make("link");
    const body = { provider, redirect_to, code_challenge: challenge, client_state: state };
    return this.leave((await this.ask("POST", "/user/identities", body, options)).url, stay);
  }
  /** For an app that reads the address itself; `completeRedirect` does the same. */
  confirmLink(code: string, options?: CallOptions): Promise<any> {
    return this.exchangeLink(code, this.verifiers.take({ code }, "link").verifier, options);
  }
  unlink(id: string, options?: CallOptions): Promise<any> {
    return this.remove(`/user/identities/${part(id)}`, options);
  }

  // The session.

  session() {
    return this.own.read();
  }
  async claims(): Promise<Body | null> {
    const session = await this.own.read();
    return session && readClaims(session.access_token);
  }
  setSession(tokens: Tokens) {
    return this.own.adopt(tokens);
  }
  refresh(options?: CallOptions) {
    return this.own.refresh(options);
  }
  /** Forgets the session first; so a page is signed out even if the service cannot be reached. */
  async logout(options?: CallOptions): Promise<void> {
    const session = await this.own.drop();
    if (!session) return;
    const { refresh_token, access_token } = session, headers = { authorization: `Bearer ${access_token}` };
    await this.ask("POST", "/logout", { refresh_token }, options, { as: "key", safety: "read", headers });
  }
  onChange(listener: Listener): () => void {
    return this.own.listen(listener);
  }

  /** A sign-in of another entry of this package. */
  async signIn(path: string, json: Json, options?: CallOptions, as: Call["as"] = "key"): Promise<any> {
    this.own.require();
    return this.conclude(() => this.send({ method: "POST", path: BASE + path, json, as }, options), as === "user");
  }

  private async ask(method: string, path: string, json?: Json, options?: CallOptions, more: Partial<Call> = {}): Promise<any> {
    return (await this.send({ method, path: BASE + path, json, ...more }, options)).body;
  }
  private remove(path: string, options?: CallOptions): Promise<any> {
    return this.ask("DELETE", path, undefined, options, { safety: "same" });
  }
  private exchangeLink(code: string, code_verifier: string, options?: CallOptions): Promise<any> {
    return this.ask("POST", "/user/identities/confirm", { code, code_verifier }, options);
  }

  /** The result of a sign-in: what is asked next is a result as well. */
  private async conclude(send: () => Promise<{ status: number; body: any }>, isSame = false): Promise<any> {
    try {
      const { status, body } = await send();
      if (status === 202) return { next: "mail", ...body };
      if (!body.access_token) return body;
      const { access_token, refresh_token, expires_in, token_type, ...rest } = body;
      await this.own.adopt(body, isSame ? "refreshed" : "signed_in");
      return { next: null, ...rest };
    } catch (error) {
      const next = error instanceof CredentialError && error.code === "mfa_required" ? "factor"
        : error instanceof ForbiddenError && error.code === "mfa_enrolment_required" ? "enrol" : null;
      if (!next) throw error;
      const { detail, code, request_id, ...rest } = (error as ForbiddenError).body as Body;
      return { next, ...rest };
    }
  }

  private async takeToken(access_token: string, options: CallOptions): Promise<any> {
    await this.own.adopt({ access_token });
    return { next: null, user: await this.user(options) };
  }

  private leave(url: string, stay?: boolean): string {
    if (isPage && !stay) location.assign(url);
    return url;
  }
}

const versioned = ({ body, etag }: { body: any; etag: string | null }) => {
  const version = /^"v(\d+)"$/.exec(etag ?? "");
  return version ? { ...body, version: Number(version[1]) } : body;
};
