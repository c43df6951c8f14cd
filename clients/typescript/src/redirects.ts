/** What the browser brings back from a provider or a mail's link, and the verifiers without which it is worth nothing. */
import { ConfigurationError, RequestError } from "./errors.js";
import { isPage, randomHex } from "./transport.js";

export interface Redirect {
  code?: string;
  state?: string | null;
  token?: string | null;
}
type Purpose = "provider" | "link" | "mail";
interface Kept {
  verifier: string;
  purpose: Purpose;
  state: string;
}

const PLACE = "auth-collections verifier";
const NAMES = ["svc-code", "svc-error", "svc-super-token", "state"];
const base64url = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

/** The code or the token of `url`, which is the page's own address where none is given; null where it brings nothing.
 * Raises RequestError for an `svc-error`. */
export function readRedirect(url?: string): Redirect | null {
  const address = new URL(url ?? location.href), found = NAMES.map((name) => address.searchParams.get(name));
  const [code, error, token, state] = found;
  if (!code && !error && !token) return null;
  if (url === undefined) {
    for (const name of NAMES) address.searchParams.delete(name);
    history.replaceState(history.state, "", address);
  }
  if (error) throw new RequestError({ code: error, message: `The sign-in ended with ${error}` });
  return code ? { code, state: state ?? null } : { token: token ?? null };
}

export class Verifiers {
  private readonly kept = new Map<string, string>();

  /** True where a verifier outlives the page that a link is opened in. */
  get canKeep(): boolean {
    return isPage && typeof localStorage !== "undefined" && crypto.subtle !== undefined;
  }

  /** A verifier that is kept here, its challenge, and a state by which its redirect is known. */
  async make(purpose: Purpose): Promise<{ challenge: string; state: string }> {
    if (!crypto.subtle) throw new ConfigurationError("A sign-in that leaves the page needs https, or localhost");
    const verifier = randomHex(32), state = randomHex(8);
    this.write(purpose, JSON.stringify({ verifier, purpose, state }));
    return { challenge: base64url(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))), state };
  }

  /** The verifier of that redirect, once. Raises RequestError where this browser, or this tab, did not begin it. */
  take({ state }: Redirect, purpose?: Purpose): Kept {
    const purposes: Purpose[] = purpose ? [purpose] : state ? ["provider", "link"] : ["mail"];
    for (const each of purposes) {
      const kept: Kept | null = JSON.parse(this.read(each) ?? "null");
      if (!kept || (!purpose && state && kept.state !== state)) continue;
      this.write(each, null);
      return kept;
    }
    throw new RequestError({ code: "invalid_code", message: "This sign-in was begun in another browser or tab" });
  }

  private storage(purpose: Purpose): Storage | null {
    try {
      return !isPage ? null : purpose === "mail" ? localStorage : sessionStorage;
    } catch {
      return null;
    }
  }
  private read(purpose: Purpose): string | null {
    return this.storage(purpose)?.getItem(`${PLACE} ${purpose}`) ?? this.kept.get(purpose) ?? null;
  }
  private write(purpose: Purpose, text: string | null): void {
    text === null ? this.kept.delete(purpose) : this.kept.set(purpose, text);
    try {
      const storage = this.storage(purpose);
      text === null ? storage?.removeItem(`${PLACE} ${purpose}`) : storage?.setItem(`${PLACE} ${purpose}`, text);
    } catch {
      // A full storage: the verifier is in memory.
    }
  }
}
