/** Passkeys of browsers: signing in, as a second factor, for a step-up, and adding one. */
import type { Client, SignIn } from "./accounts.js";
import { coreOf } from "./client.js";
import type { AnySchema } from "./schema.js";

type Options = { mediation?: CredentialMediationRequirement; signal?: AbortSignal };
interface Asked {
  flow_id: string;
  publicKey: any;
}

export function passkeys<S extends AnySchema>(client: Client<S>) {
  type Done = Promise<SignIn<S["users"]["data"]>>;
  const { ask: send, signIn } = coreOf(client);
  const ask = (path: string, json: object, as: "key" | "user", signal?: AbortSignal): Promise<Asked> =>
    send("POST", `/auth-collections${path}/options`, { json, as }, signal && { signal });
  const use = async ({ flow_id, publicKey }: Asked, { mediation, signal }: Options = {}) => {
    const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
    const found = await navigator.credentials.get({ publicKey: options, ...(mediation && { mediation }), ...(signal && { signal }) });
    return { flow_id, credential: (found as PublicKeyCredential).toJSON() };
  };
  const run = async (path: string, json: object, as: "key" | "user", { mediation, signal }: Options = {}): Done => {
    const answer = await use(await ask(path, json, as, signal), { ...(mediation && { mediation }), ...(signal && { signal }) });
    return signIn(path, answer, signal && { signal }, as);
  };
  return {
    /** True where this browser has passkeys. */
    supported: (): boolean => typeof PublicKeyCredential !== "undefined" && "parseRequestOptionsFromJSON" in PublicKeyCredential,
    /** True where a form can offer passkeys among its suggestions: `login({mediation: "conditional"})`. */
    autofill: async (): Promise<boolean> =>
      typeof PublicKeyCredential !== "undefined" && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true,
    login: (options?: Options) => run("/login-passkey", {}, "key", options),
    loginFactor: (flow_id: string, options?: Options) => run("/login-factor", { flow_id }, "key", options),
    stepUp: (options?: Options) => run("/user/step-up", {}, "user", options),
    /** Adds one. `flow_id` is that of a sign-in that asks for a first factor. */
    async add({ name, flow_id, signal }: { name?: string; flow_id?: string; signal?: AbortSignal } = {}): Done {
      const path = "/user/factors/passkey", as = flow_id ? "key" : "user";
      const asked = await ask(path, flow_id ? { flow_id } : {}, as, signal);
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(asked.publicKey);
      const made = await navigator.credentials.create({ publicKey, ...(signal && { signal }) });
      return signIn(path, { flow_id: asked.flow_id, credential: (made as PublicKeyCredential).toJSON(), name }, undefined, as);
    },
  };
}
