/** What a provider or a mail's link brings back in the address of the page. */
import { RequestError } from "./errors.js";

export interface Redirect {
  code?: string;
  state?: string | null;
  token?: string | null;
}

const NAMES = ["svc-code", "svc-error", "svc-super-token", "state"];

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
