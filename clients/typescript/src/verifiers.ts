/** The verifiers without which a code in the address is worth nothing. They stay in the browser that began a sign-in. */
import { ConfigurationError, RequestError } from "./errors.js";
import { isPage, randomHex } from "./transport.js";

export type Purpose = "provider" | "link" | "mail";
interface Kept {
  verifier: string;
  purpose: Purpose;
  state: string;
}

const PLACE = "auth-collections verifier";
const base64url = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

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
  take(state: string | null | undefined, purpose?: Purpose): Kept {
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
