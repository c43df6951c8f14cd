/** The calls of an account that a page makes seldom: providers, mails, factors, identities, sessions. */
import { part } from "./bodies.js";
import type { Ask, Core } from "./client.js";
import type { Redirect } from "./redirects.js";
import type { Sessions } from "./sessions.js";
import { type Call, type CallOptions, isPage } from "./transport.js";
import { type Purpose, Verifiers } from "./verifiers.js";

type Body = Record<string, any>;
type Options = { redirect_to?: string; locale?: string; create?: boolean; stay?: boolean } & CallOptions;
interface Parts {
  own: Sessions;
  ask: Ask;
  signIn: Core["signIn"];
}

export function makeAccount({ own, ask: askOf, signIn }: Parts): Body {
  const verifiers = new Verifiers();
  const ask = (method: string, path: string, json?: Body, options?: CallOptions, more?: Partial<Call>): Promise<any> =>
    askOf(method, `/auth-collections${path}`, { json, ...more }, options);
  const remove = (path: string, options?: CallOptions): Promise<null> => ask("DELETE", path, undefined, options, { safety: "same" });
  const user = (options?: CallOptions) => ask("GET", "/user", undefined, options);
  const mail = (path: string, as: Call["as"]) => (email: string, { redirect_to, locale, ...options }: Options = {}) =>
    ask("POST", path, { email, redirect_to, locale }, options, { as });
  const confirmLink = (code: string, code_verifier: string, options?: CallOptions) =>
    ask("POST", "/user/identities/confirm", { code, code_verifier }, options);

  /** Goes to the address that the service names for a provider, unless the page shall `stay`. */
  async function leave(purpose: Purpose, provider: string, { redirect_to, stay, ...options }: Options): Promise<string> {
    const { challenge, state } = await verifiers.make(purpose);
    const given = { provider, redirect_to, code_challenge: challenge, client_state: state };
    const { url } = await (purpose === "link"
      ? ask("POST", "/user/identities", given, options)
      : ask("GET", "/login-idp", undefined, options, { as: "key", query: given }));
    if (isPage && !stay) location.assign(url);
    return url;
  }

  return {
    signupAnonymous: (data: Body = {}, options?: CallOptions) => signIn("/signup-anonymous", data, options),
    upgrade: (email: string, password?: string, options?: CallOptions) => signIn("/user/upgrade", { email, password }, options, "user"),
    async loginByMail(email: string, { redirect_to, locale, create, ...options }: Options = {}) {
      // Without a verifier the mail has a code and no link.
      const canVerify = redirect_to !== undefined || verifiers.canKeep;
      const code_challenge = canVerify ? (await verifiers.make("mail")).challenge : undefined;
      return { next: "mail", ...(await ask("POST", "/login-email", { email, redirect_to, locale, create, code_challenge }, options, { as: "key" })) };
    },
    async loginProvider(provider: string, options: Options = {}) {
      own.require();
      return leave("provider", provider, options);
    },
    begin: (provider: string, options?: CallOptions) => ask("POST", "/login-id-token/options", { provider }, options, { as: "key" }),
    finish: (flow_id: string, id_token: string, name?: string, options?: CallOptions) => signIn("/login-id-token", { flow_id, id_token, name }, options),
    /** Ends what a redirect brought. */
    async comeBack({ code, state, token }: Redirect, { allowTokenInUrl, ...options }: { allowTokenInUrl?: boolean } & CallOptions) {
      if (!code) {
        if (!allowTokenInUrl) return null;
        await own.adopt({ access_token: token! });
        return { next: null, user: await user(options) };
      }
      const { verifier, purpose } = verifiers.take(state);
      if (purpose === "link") return { next: null, identity: await confirmLink(code, verifier, options) };
      return signIn("/token", { code, code_verifier: verifier }, options);
    },

    verifyEmail: mail("/verify-email", "key"),
    forgotPassword: mail("/forgot-password", "key"),
    resetPassword: (proof: Body, options?: CallOptions) => ask("POST", "/reset-password", proof, options, { as: "key" }),
    changeEmail: mail("/user/email", "user"),

    changePassword: (old: string | null, password: string, options?: CallOptions) =>
      signIn("/user/password", { current_password: old ?? undefined, password }, options, "user"),
    async deleteUser(options?: CallOptions) {
      await ask("DELETE", "/user", undefined, options);
      await own.drop();
    },
    stepUp: (proof: Body, options?: CallOptions) => signIn("/user/step-up", proof, options, "user"),
    sessions: async (options?: CallOptions) => (await ask("GET", "/user/sessions", undefined, options)).sessions,
    endSession: (id: string, options?: CallOptions) => remove(`/user/sessions/${part(id)}`, options),
    endOtherSessions: (options?: CallOptions) => remove("/user/sessions", options),
    events: (query?: Body, options?: CallOptions) => ask("GET", "/user/events", undefined, options, { query }),

    factors: (options?: CallOptions) => ask("GET", "/user/factors", undefined, options),
    addTotp: ({ name, flow_id, ...options }: { name?: string; flow_id?: string } & CallOptions = {}) =>
      ask("POST", "/user/factors/totp", { name, flow_id }, options, { as: flow_id ? "key" : "user" }),
    confirmTotp: (id: string, code: string, flow_id?: string, options?: CallOptions) =>
      signIn(`/user/factors/totp/${part(id)}/confirm`, { code, flow_id }, options, flow_id ? "key" : "user"),
    renameFactor: (id: string, name: string, options?: CallOptions) =>
      ask("PATCH", `/user/factors/${part(id)}`, { name }, options, { safety: "same" }),
    removeFactor: (id: string, options?: CallOptions) => remove(`/user/factors/${part(id)}`, options),
    recoveryCodes: async (options?: CallOptions) => (await ask("POST", "/user/recovery-codes", {}, options)).recovery_codes,

    identities: async (options?: CallOptions) => (await ask("GET", "/user/identities", undefined, options)).identities,
    linkProvider: (provider: string, options: Options = {}) => leave("link", provider, options),
    /** For an app that reads the address itself; `completeRedirect` does the same. */
    confirmLink: (code: string, options?: CallOptions) => confirmLink(code, verifiers.take(null, "link").verifier, options),
    unlink: (id: string, options?: CallOptions) => remove(`/user/identities/${part(id)}`, options),
  };
}
