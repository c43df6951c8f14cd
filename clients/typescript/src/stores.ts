/** Places that keep a session. */
export interface Session {
  access_token: string;
  /** Absent where the project's tokens live 30 days and are not refreshed. */
  refresh_token?: string;
  /** Milliseconds since the epoch, by this machine's clock. */
  expires_at: number;
  user_id: string;
}
export interface SessionStore {
  get(): Session | null | Promise<Session | null>;
  set(session: Session | null): void | Promise<void>;
  /** The name of a place that several tabs share. */
  place?: string;
  /** The place cannot be written, so a session is never refreshed. */
  readOnly?: boolean;
}

export function memory(): SessionStore {
  let kept: Session | null = null;
  return {
    get: () => kept,
    set(session) {
      kept = session;
    },
  };
}

/** Whatever a place holds is judged before it is believed. */
export function readSession(text: string | null | undefined): Session | null {
  try {
    const found = JSON.parse(text ?? "null");
    return typeof found?.access_token === "string" && typeof found.user_id === "string" && found.expires_at > 0 ? found : null;
  } catch {
    return null;
  }
}

/** A session in `localStorage`, or another storage. Every script of the page can read it. If the storage throws, the
 * session is kept in memory. */
export function webStorage(place: string, storage: () => Storage = () => localStorage): SessionStore {
  let kept: string | null = null, isBroken = false;
  return {
    place,
    get() {
      try {
        if (!isBroken) return readSession(storage().getItem(place));
      } catch {
        isBroken = true;
      }
      return readSession(kept);
    },
    set(session) {
      kept = session && JSON.stringify(session);
      // In one step: another tab that read between two steps would find no session.
      try {
        if (kept === null) storage().removeItem(place);
        else storage().setItem(place, kept);
        isBroken = false;
      } catch {
        isBroken = true;
        forget(storage, place);
      }
    },
  };
}

/** What cannot be replaced must not be read again. */
function forget(storage: () => Storage, place: string): void {
  try {
    storage().removeItem(place);
  } catch {
    // A storage that cannot be used holds nothing that is read.
  }
}
