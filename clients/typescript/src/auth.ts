/** A user's sign-in and session. What an account needs seldom, and what leaves the page, is loaded at its first use. */
import { type FileOptions, ifMatch, write } from "./bodies.js";
import type { Ask, Core, Send } from "./client.js";
import { versionOf } from "./errors.js";
import { loadOnce } from "./loading.js";
import { readRedirect } from "./redirects.js";
import { type Listener, readClaims, type Sessions, type Tokens } from "./sessions.js";
import type { Answer, Call, CallOptions } from "./transport.js";

type Body = Record<string, any>;

const BASE = "/auth-collections";
/** Calls of `account.ts`. */
const LATER =
  "loginByMail loginProvider linkProvider confirmLink verifyEmail forgotPassword resetPassword changeEmail changePassword deleteUser " +
  "stepUp sessions endSession endOtherSessions events factors addTotp confirmTotp renameFactor removeFactor recoveryCodes identities unlink signupAnonymous upgrade";
/** What a sign-in needs next, by the code of its refusal. */
const NEXT: Record<string, string> = { mfa_required: "factor", mfa_enrolment_required: "enrol" };

export class Auth {
  private readonly account: () => Promise<Body>;
  readonly loginIdToken: Body = {};

  constructor(private readonly own: Sessions, private readonly send: Send, private readonly ask: Ask) {
    this.account = loadOnce(async () => (await import("./account.js")).makeAccount({ own, ask, signIn: this.signIn }));
    const later = (name: string) => async (...given: unknown[]) => (await this.account())[name](...given);
    for (const name of LATER.split(" ")) (this as Body)[name] = later(name);
    for (const name of ["begin", "finish"]) this.loginIdToken[name] = later(name);
  }

  async signup(fields: object, options: FileOptions = {}): Promise<any> {
    this.own.require();
    const call = { method: "POST", path: `${BASE}/signup`, safety: "key", guestKeys: true, as: "key" } as const;
    return this.conclude(this.send({ ...call, ...write(fields, (data) => data, options) }, options));
  }
  login(who: string | object, password: string, options?: CallOptions): Promise<any> {
    return this.signIn("/login", { ...(typeof who === "string" ? { email: who } : who), password }, options);
  }
  loginFactor(flow_id: string, proof: object, options?: CallOptions): Promise<any> {
    return this.signIn("/login-factor", { flow_id, ...proof }, options);
  }
  /** A code or a link of a mail: a sign-in, or `{email_verified}`, or `{email, waiting_for}`. */
  confirm(proof: object, options?: CallOptions): Promise<any> {
    return this.conclude(this.send({ method: "POST", path: `${BASE}/confirm`, json: proof }, options));
  }
  methods(options?: CallOptions): Promise<any> {
    return this.ask("GET", `${BASE}/sign-in-methods`, { as: "key" }, options);
  }
  /** Ends what `loginProvider`, `linkProvider` or a mail's link began; null where the address brings nothing. The
   * parameters leave the address before anything else happens. */
  async completeRedirect(url?: string, options: CallOptions = {}): Promise<any> {
    const found = readRedirect(url);
    return found && (await this.account())["comeBack"](found, options);
  }

  /** The record, with its `version` for `if_match`. */
  async user(options?: CallOptions): Promise<any> {
    return versioned(await this.send({ method: "GET", path: `${BASE}/user` }, options));
  }
  async updateUser(fields: object, { if_match, ...options }: { if_match?: number | string } & FileOptions = {}): Promise<any> {
    const call: Call = { method: "PUT", path: `${BASE}/user`, safety: if_match === undefined ? "same" : "once", headers: ifMatch(if_match) };
    const user = versioned(await this.send({ ...call, ...write(fields, (data) => data, options) }, options));
    this.own.announce("user_changed", await this.own.read());
    return user;
  }

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
    await this.ask("POST", `${BASE}/logout`, { json: { refresh_token }, as: "key", safety: "read", headers }, options);
  }
  onChange(listener: Listener): () => void {
    return this.own.listen(listener);
  }

  /** A sign-in of another module of this package. */
  readonly signIn: Core["signIn"] = async (path, json, options, as = "key") => {
    this.own.require();
    return this.conclude(this.send({ method: "POST", path: BASE + path, json, as }, options), as === "user");
  };

  /** The result of a sign-in: what is asked next is a result as well. */
  private async conclude(answer: Promise<Answer>, isSame = false): Promise<any> {
    try {
      const { status, body } = await answer;
      if (status === 202) return { next: "mail", ...body };
      if (!body.access_token) return body;
      const { access_token, refresh_token, expires_in, token_type, ...rest } = body;
      await this.own.adopt(body, isSame ? "refreshed" : "signed_in");
      return { next: null, ...rest };
    } catch (error) {
      const { detail, code, request_id, ...rest } = (error as { body?: Body }).body ?? {}, next = NEXT[code];
      if (!next) throw error;
      return { next, ...rest };
    }
  }
}

const versioned = ({ body, etag }: Answer) => {
  const version = versionOf(etag);
  return version ? { ...body, version } : body;
};
