/** One client's session: found, refreshed once at a time, shared by tabs, and announced to listeners. */
import { ConfigurationError, CredentialError } from "./errors.js";
import { guard } from "./listeners.js";
import type { Session, SessionStore } from "./stores.js";
import type { CallOptions, Credential, Held, Transport } from "./transport.js";

export type SessionEvent = "signed_in" | "refreshed" | "signed_out" | "user_changed";
export type Listener = (event: SessionEvent, session: Session | null) => void;
/** What a sign-in answers with, or a session that an app has kept. */
export interface Tokens {
  access_token: string;
  refresh_token?: string;
  expires_in?: number;
  expires_at?: number;
}
type Claims = Record<string, any>;

const LOCK_MS = 5_000;
const EARLY_MS = 60_000;

/** The claims of a token, which are not verified. */
export function readClaims(token: string): Claims {
  try {
    const text = atob(token.split(".")[1]!.replace(/-/g, "+").replace(/_/g, "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (each) => each.charCodeAt(0))));
  } catch {
    throw new ConfigurationError("The token is no JWT");
  }
}

/** The session of those tokens. Its end counts by this machine's clock, never by the claim `exp`. */
export function sessionOf({ access_token, refresh_token, expires_in, expires_at }: Tokens): Session {
  const { exp, iat, sub } = readClaims(access_token);
  const end = expires_at ?? Date.now() + (expires_in ?? exp - iat) * 1000;
  return { access_token, ...(refresh_token && { refresh_token }), expires_at: end, user_id: sub };
}

/** Runs `work` under the tabs' lock of that name, or without it after five seconds: a frozen tab stops no other. */
async function locked<T>(name: string | undefined, work: () => Promise<T>): Promise<T> {
  const locks = (globalThis.navigator as Navigator | undefined)?.locks;
  if (!name || !locks) return work();
  const patience = new AbortController(), timer = setTimeout(() => patience.abort(), LOCK_MS);
  let running: Promise<T> | undefined;
  const begin = () => {
    clearTimeout(timer);
    return (running = work());
  };
  try {
    return await locks.request(name, { signal: patience.signal }, begin);
  } catch {
    return running ?? work();
  } finally {
    clearTimeout(timer);
  }
}

const heldOf = (session: Session | null): Held | null => session && { token: session.access_token, user: session.user_id };

export class Sessions implements Credential {
  private readonly listeners = new Set<Listener>();
  private readonly channel: BroadcastChannel | undefined;
  private refreshing: Promise<Session | null> | null = null;
  /** The session of which this tab's listeners heard last. */
  private known: Session | null | undefined;

  /** `token` is a fixed token of one request: such a client has no store and refreshes nothing. */
  constructor(
    private readonly transport: Transport,
    private readonly store: SessionStore | undefined,
    private readonly token?: string,
  ) {
    if (!store?.place || typeof BroadcastChannel === "undefined") return;
    this.channel = new BroadcastChannel(store.place);
    this.channel.onmessage = ({ data }) => void this.hear(data);
    // A message may come before this tab sees what the other one stored. The event of the storage comes after it.
    globalThis.addEventListener?.("storage", this.hearStorage);
    (this.channel as { unref?: () => void }).unref?.();
  }

  close(): void {
    globalThis.removeEventListener?.("storage", this.hearStorage);
    this.channel?.close();
    this.listeners.clear();
  }

  listen(listener: Listener): () => void {
    const own: Listener = (event, session) => listener(event, session);
    this.listeners.add(own);
    return () => void this.listeners.delete(own);
  }

  async read(): Promise<Session | null> {
    if (this.token) return sessionOf({ access_token: this.token });
    const session = (await this.store?.get()) ?? null;
    if (this.known === undefined) this.known = session;
    return session;
  }

  /** The store, where a sign-in may keep what it gets. */
  require(): SessionStore {
    if (this.token) throw new ConfigurationError("A client with a token has no session");
    if (!this.store) throw new ConfigurationError("Outside a page, createClient needs a `session` to keep a sign-in");
    if (this.store.readOnly) throw new ConfigurationError("The store of the session is readOnly");
    return this.store;
  }

  async adopt(tokens: Tokens, event: SessionEvent = "signed_in"): Promise<Session> {
    const session = sessionOf(tokens);
    await this.require().set(session);
    this.announce(event, session);
    return session;
  }

  async drop(): Promise<Session | null> {
    const session = await this.read();
    if (!session) return null;
    await this.require().set(null);
    this.announce("signed_out", null);
    return session;
  }

  /** Tells this tab's listeners, after what happened is stored, and the other tabs. */
  announce(event: SessionEvent, session: Session | null): void {
    this.known = session;
    this.tell(event, session);
    this.channel?.postMessage(event);
  }

  async find(): Promise<Held | null> {
    if (this.token) return { token: this.token, user: "" };
    const session = await this.read();
    if (!session?.refresh_token || this.store?.readOnly) return heldOf(session);
    const { exp, iat } = readClaims(session.access_token);
    const left = session.expires_at - Date.now();
    if (left >= Math.min(EARLY_MS, (exp - iat) * 100)) return heldOf(session);
    try {
      return heldOf(await this.refresh({}, session));
    } catch (error) {
      if (left <= 0) throw error;
      return heldOf(session);
    }
  }

  async renew(held: Held): Promise<Held | null> {
    if (this.token || this.store?.readOnly) return null;
    const session = await this.read();
    // The token was refused: a session that cannot be refreshed has ended with it.
    const next = session?.access_token === held.token ? await this.refresh({}, session, true) : session;
    return next && next.user_id === held.user ? heldOf(next) : null;
  }

  /** The next session, or null where it has ended. One refresh at a time. `seen` is the session that the caller found to
   * be old: another one that a tab has stored since is the next. A session without a refresh token stays as it is,
   * unless its token `wasRefused`. */
  refresh(options: CallOptions = {}, seen?: Session, wasRefused = false): Promise<Session | null> {
    return (this.refreshing ??= this.replace(options, seen, wasRefused).finally(() => (this.refreshing = null)));
  }

  private async replace(options: CallOptions, seen: Session | undefined, wasRefused: boolean): Promise<Session | null> {
    const store = this.require(), before = seen ?? (await this.read());
    if (!before?.refresh_token && !wasRefused) return before;
    if (!before) return null;
    const [event, session] = await locked(store.place && `${store.place} refresh`, () => this.exchange(store, before, options));
    if (event) this.announce(event, session);
    return session;
  }

  /** One step of the session. It is stored only where the store still has what was exchanged: a sign-out, or another
   * sign-in, that came meanwhile stays. */
  private async exchange(store: SessionStore, before: Session, options: CallOptions): Promise<[SessionEvent | null, Session | null]> {
    const present = await this.read();
    if (present?.access_token !== before.access_token) return [null, present];
    let next: Session | null = null;
    try {
      if (before.refresh_token) next = sessionOf(await this.ask(before.refresh_token, options));
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error;
    }
    const now = await this.read();
    if (now?.access_token !== before.access_token) return [null, now];
    await store.set(next);
    return [next ? "refreshed" : "signed_out", next];
  }

  private async ask(refresh_token: string, options: CallOptions): Promise<Tokens> {
    const call = { method: "POST", path: "/auth-collections/refresh", json: { refresh_token }, safety: "read", as: "key" } as const;
    return (await this.transport.send(call, options, this)).body;
  }

  private readonly hearStorage = ({ key }: StorageEvent): void => {
    if (key === this.store?.place) void this.hear();
  };

  /** Another tab's message is a reason to read the store, and nothing more. */
  private async hear(message?: unknown): Promise<void> {
    const now = (await this.store!.get()) ?? null, before = this.known;
    this.known = now;
    if (now?.access_token !== before?.access_token)
      this.tell(!now ? "signed_out" : before?.user_id === now.user_id ? "refreshed" : "signed_in", now);
    else if (now && message === "user_changed") this.tell(message, now);
  }

  private tell(event: SessionEvent, session: Session | null): void {
    for (const listener of [...this.listeners]) guard(() => listener(event, session));
  }
}
