/** A session in a cookie, for servers that render pages. No script of a page can read it. */
import { ConfigurationError } from "./errors.js";
import { readSession, type SessionStore } from "./stores.js";

export interface CookieAttributes {
  httpOnly: true;
  secure: true;
  sameSite: "lax";
  path: "/";
  maxAge: number;
}
export interface CookieOptions {
  /** The value of the request's cookie of that name. */
  get(name: string): string | null | undefined;
  /** Sets a cookie of the answer. Left out, `Set-Cookie` is added to `headers`. */
  set?(name: string, value: string, attributes: CookieAttributes): void;
  /** The answer's headers: each answer that sets a cookie is kept out of shared caches. */
  headers: Headers | ((name: string, value: string) => void);
  /** For places that cannot set cookies: the session is read, and never refreshed. */
  readOnly?: boolean;
}

const NAME = "__Host-ac", MAX_BYTES = 3_800, MAX_AGE = 34_560_000;
const encode = (text: string): string => btoa(unescape(encodeURIComponent(text))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
function decode(value: string): string | null {
  try {
    return decodeURIComponent(escape(atob(value.replace(/-/g, "+").replace(/_/g, "/"))));
  } catch {
    return null;
  }
}

export function cookieSession({ get, set, headers, readOnly = false }: CookieOptions): SessionStore {
  if (!headers && !readOnly) throw new ConfigurationError("cookieSession needs the answer's `headers`: shared caches must not keep its cookies");
  let kept: string | null = decode(get(NAME) ?? "");
  const write = (name: string, value: string) => (headers instanceof Headers ? headers.append(name, value) : headers(name, value));
  return {
    readOnly,
    get: () => readSession(kept),
    set(session) {
      const text = session && JSON.stringify(session), value = text ? encode(text) : "", maxAge = text ? MAX_AGE : 0;
      if (NAME.length + value.length > MAX_BYTES) throw new ConfigurationError(`The session is larger than a cookie of ${MAX_BYTES} bytes: use fewer claims`);
      kept = text;
      if (headers instanceof Headers) headers.set("Cache-Control", "private, no-store");
      else headers("Cache-Control", "private, no-store");
      if (set) set(NAME, value, { httpOnly: true, secure: true, sameSite: "lax", path: "/", maxAge });
      else write("Set-Cookie", `${NAME}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; Secure; SameSite=Lax`);
    },
  };
}
