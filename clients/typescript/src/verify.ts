/** Verifies users' tokens in back ends, by the project's public keys. */
import { ServiceError } from "./errors.js";

export type TokenCode = "malformed" | "algorithm" | "unknown_key" | "signature" | "expired" | "issuer" | "audience" | "ended";
export interface Claims {
  sub: string;
  sid?: string;
  aal?: number;
  amr?: string[];
  auth_time?: number;
  exp: number;
  iat: number;
  claims?: Record<string, unknown>;
  [name: string]: unknown;
}
export interface VerifierOptions {
  /** The address of the service. It, or the project's own issuer below it, is the issuer unless `issuer` says otherwise. */
  url: string;
  project: string;
  issuer?: string;
  /** True asks the service as well, so that ended sessions are seen; an answer is remembered for up to 5 s. */
  online?: boolean;
  fetch?: typeof fetch;
}
/** A token that is not good, and why. */
export class TokenError extends ServiceError {
  constructor(code: TokenCode) {
    super({ status: 401, code, message: `The token is refused: ${code}` });
  }
}

const KEPT_MS = 300_000, UNKNOWN_MS = 60_000, ONLINE_MS = 5_000, TIMEOUT_MS = 10_000, REMEMBERED = 10_000;
type Keys = Map<string, CryptoKey>;

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));

function readPart(text: string | undefined): any {
  try {
    const found = JSON.parse(new TextDecoder().decode(bytesOf(text!)));
    if (typeof found === "object" && found !== null) return found;
  } catch {
    // Judged below.
  }
  throw new TokenError("malformed");
}

export function makeVerifier({ url, project, issuer, online, fetch: ask = fetch }: VerifierOptions): { verify(token: string): Promise<Claims> } {
  const origin = url.replace(/\/+$/, ""), base = `${origin}/auth-collections`, seen = new Map<string, number>();
  const issuers = issuer ? [issuer] : [origin, `${base}/issuer/${project}`];
  let keys: Keys = new Map(), readAt = -Infinity, unknownAt = -Infinity, reading: Promise<Keys> | null = null;

  async function send(path: string, init?: RequestInit): Promise<Response> {
    try {
      return await ask(base + path, { ...init, redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
    } catch {
      throw new ServiceError({ code: "network", message: "The service did not answer" });
    }
  }

  async function readKeys(): Promise<Keys> {
    const answer = await send(`/jwks/${encodeURIComponent(project)}`);
    if (!answer.ok) throw new ServiceError({ status: answer.status, code: "bad_answer", message: `The keys were answered with ${answer.status}` });
    const found: [string, CryptoKey][] = [];
    for (const jwk of (await answer.json()).keys as (JsonWebKey & { kid: string })[]) {
      if (jwk.kty !== "EC" || jwk.crv !== "P-256") continue;
      const { kty, crv, x, y } = jwk as Required<JsonWebKey>;
      found.push([jwk.kid, await crypto.subtle.importKey("jwk", { kty, crv, x, y }, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"])]);
    }
    keys = new Map(found);
    readAt = performance.now();
    return keys;
  }

  /** The key of that id. An unknown id has the keys read again, once a minute at most. */
  async function keyOf(kid: unknown): Promise<CryptoKey> {
    const now = performance.now(), isOld = now - readAt > KEPT_MS, isUnknown = !keys.has(kid as string) && now - unknownAt > UNKNOWN_MS;
    if (isUnknown && !isOld && !reading) unknownAt = now;
    if (isOld || isUnknown || reading) await (reading ??= readKeys().finally(() => (reading = null)));
    const key = keys.get(kid as string);
    if (!key) throw new TokenError("unknown_key");
    return key;
  }

  async function checkOnline(token: string): Promise<void> {
    const now = performance.now(), known = seen.get(token);
    if (known !== undefined && now - known < ONLINE_MS) return;
    const answer = await send("/user", { headers: { authorization: `Bearer ${token}` } });
    await answer.body?.cancel();
    if (answer.status === 401) throw new TokenError("ended");
    if (!answer.ok) throw new ServiceError({ status: answer.status, code: "bad_answer", message: `The service answered ${answer.status}` });
    if (seen.size >= REMEMBERED) seen.clear();
    seen.set(token, now);
  }

  /** The claims of a good token. Raises TokenError, or ServiceError where keys or service cannot be reached. */
  async function verify(token: string): Promise<Claims> {
    const [head, body, signature, ...more] = String(token).split(".");
    if (!head || !body || !signature || more.length) throw new TokenError("malformed");
    const { alg, kid, crit } = readPart(head), claims = readPart(body);
    if (alg !== "ES256" || crit !== undefined) throw new TokenError("algorithm");
    const key = await keyOf(kid);
    let isGood = false;
    try {
      isGood = await crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, bytesOf(signature), new TextEncoder().encode(`${head}.${body}`));
    } catch {
      throw new TokenError("malformed");
    }
    if (!isGood) throw new TokenError("signature");
    if (!issuers.includes(claims.iss)) throw new TokenError("issuer");
    if (claims.aud !== project) throw new TokenError("audience");
    if (!(claims.exp * 1000 > Date.now())) throw new TokenError("expired");
    if (online) await checkOnline(token);
    return claims;
  }
  return { verify };
}
