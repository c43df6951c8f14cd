/** The socket that the live lists of one client share: it is opened for the first list and closed after the last. */
import type { Core } from "./client.js";
import { RequestError, type ServiceError } from "./errors.js";
import type { Held } from "./transport.js";
import type { FrameChange } from "./windows.js";

/** `stale`: what is shown may be old. `closed`: nothing follows. */
export type LiveState = "connecting" | "live" | "stale" | "closed";
export type Socket = new (url: string) => WebSocket;
export interface Follower {
  snapshot(documents: any[], isComplete: boolean): void;
  changes(changes: FrameChange<any>[]): void;
  state(state: LiveState, problem?: ServiceError): void;
}
/** One list: `id` is new for each subscription, so that frames of an earlier one are known as such. */
export interface Following {
  id: string;
  query: object;
  own: Follower;
  cursor: string | null;
  state: LiveState;
  failures: number;
  timer: Timer | undefined;
}
type Timer = ReturnType<typeof setTimeout>;
type Frame = Record<string, any>;

const SILENCE_MS = 60_000, QUIET_MS = 30_000, FIRST_MS = 500, LONGEST_MS = 30_000, REFUSALS = 3, OPEN = 1;
/** Codes of `closed` after which the same list may succeed. */
const PASSING = ["unavailable", "busy", "query_too_slow"];
const FINAL: Record<number, string> = {
  4400: "The service did not understand this client",
  4403: "The service does not accept this page, or this key in a page",
  4429: "Too many sockets, messages or requests",
};
const backoff = (failures: number): number => Math.random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** failures);
const problemOf = (code: unknown, detail: unknown): ServiceError =>
  new RequestError({ code: String(code), message: Array.isArray(detail) ? detail.map(({ msg }) => msg).join("; ") : String(detail) });

/** A listener that throws stops neither the socket nor other listeners. */
function guard(work: () => void): void {
  try {
    work();
  } catch (error) {
    if (typeof reportError === "function") reportError(error);
    else console.error(error);
  }
}

export class Line {
  private readonly followings = new Map<string, Following>();
  private socket: WebSocket | null = null;
  private held: Held | null = null;
  private attempt = 0;
  private failures = 0;
  private refusals = 0;
  private count = 0;
  private heardAt = 0;
  private timer: Timer | undefined;
  private watchdog: Timer | undefined;
  private stops: (() => void)[] = [];

  constructor(private readonly core: Core, private readonly Socket: Socket) {
    core.closing.add(() => this.finish());
  }

  follow(query: object, own: Follower): Following {
    const following: Following = { id: "", query, own, cursor: null, state: "connecting", failures: 0, timer: undefined };
    this.register(following);
    guard(() => own.state("connecting"));
    if (this.followings.size === 1) this.begin();
    else this.subscribe(following);
    return following;
  }

  leave(following: Following, problem?: ServiceError): void {
    clearTimeout(following.timer);
    if (!this.followings.delete(following.id)) return;
    this.say({ type: "unsubscribe", id: following.id });
    this.tell(following, "closed", problem);
    if (!this.followings.size) this.end();
  }

  /** Asks for the list again. The shown documents stay until the snapshot is there. */
  again(following: Following): void {
    if (!this.followings.delete(following.id)) return;
    this.say({ type: "unsubscribe", id: following.id });
    following.cursor = null;
    this.register(following);
    this.tell(following, "stale");
    this.subscribe(following);
  }

  finish(problem?: ServiceError): void {
    for (const each of [...this.followings.values()]) this.leave(each, problem);
  }

  private register(following: Following): void {
    following.id = `s${++this.count}`;
    this.followings.set(following.id, following);
  }

  private tell(following: Following, state: LiveState, problem?: ServiceError): void {
    if (following.state === state) return;
    following.state = state;
    guard(() => following.own.state(state, problem));
  }

  private begin(): void {
    const { sessions } = this.core;
    this.stops = [sessions.listen((event) => this.hearSession(event))];
    this.listenTo("window", "online", () => this.open());
    this.listenTo("document", "visibilitychange", () => {
      if (document.visibilityState === "visible" && (!this.socket || Date.now() - this.heardAt > QUIET_MS)) this.open();
    });
    // Lists that a page begins in one turn are all part of the first connection.
    this.timer = setTimeout(() => this.open());
  }

  private listenTo(place: "window" | "document", event: string, work: () => void): void {
    const target = (globalThis as Record<string, any>)[place] as EventTarget | undefined;
    if (typeof target?.addEventListener !== "function") return;
    target.addEventListener(event, work);
    this.stops.push(() => target.removeEventListener(event, work));
  }

  private hearSession(event: string): void {
    if (event === "refreshed") void this.core.sessions.find().then((held) => this.renew(held), () => {});
    if (event !== "signed_in" && event !== "signed_out") return;
    // Another user: nothing goes on where it was.
    for (const each of this.followings.values()) each.cursor = null;
    this.refusals = 0;
    this.open();
  }

  private renew(held: Held | null): void {
    if (!held || held.token === this.held?.token) return;
    this.held = held;
    this.say({ type: "token", token: held.token });
  }

  /** Sends a newer token, before the present one has ended. */
  private async freshen({ token }: Held): Promise<void> {
    const { sessions } = this.core;
    try {
      const session = await sessions.read();
      if (session?.access_token === token) await sessions.refresh({}, session);
      this.renew(await sessions.find());
    } catch {
      // The socket ends with its token, and comes back with another one.
    }
  }

  private open(): void {
    clearTimeout(this.timer);
    this.drop();
    const attempt = this.attempt;
    for (const each of this.followings.values()) this.tell(each, each.state === "connecting" ? "connecting" : "stale");
    this.core.sessions.find().then((held) => attempt === this.attempt && this.connect(held), () => attempt === this.attempt && this.retry());
  }

  private connect(held: Held | null): void {
    const { url, key } = this.core.transport, socket = (this.socket = new this.Socket(`${url.replace(/^http/, "ws")}/realtime`));
    this.held = held;
    this.listen();
    socket.onopen = () => {
      this.say({ type: "hello", ...(held ? { token: held.token } : { key }) });
      for (const each of this.followings.values()) this.subscribe(each);
    };
    socket.onmessage = ({ data }) => {
      if (socket !== this.socket) return;
      this.listen();
      this.read(JSON.parse(data));
    };
    socket.onclose = (event) => socket === this.socket && this.lose(event);
  }

  private say(message: Frame): void {
    if (this.socket?.readyState === OPEN) this.socket.send(JSON.stringify(message));
  }

  private subscribe({ id, query, cursor }: Following): void {
    this.say({ type: "subscribe", id, ...query, ...(cursor && { after: cursor }) });
  }

  private read(frame: Frame): void {
    for (const [id, cursor] of Object.entries(frame["cursors"] ?? {})) this.keep(id, cursor as string);
    if (frame["type"] === "ready") this.refusals = 0;
    if (frame["type"] === "token_expiring" && this.held)
      void this.freshen(this.held);
    const following = this.followings.get(frame["id"]);
    if (following) this.readOwn(frame, following);
  }

  private keep(id: string, cursor: string | undefined): void {
    const following = this.followings.get(id);
    if (following && cursor) following.cursor = cursor;
  }

  private readOwn({ type, id, cursor, documents, complete, changes, code, detail }: Frame, following: Following): void {
    this.keep(id, cursor);
    if (type === "resync") this.tell(following, "stale");
    if (type === "error") this.leave(following, problemOf(type, detail));
    if (type === "closed") this.closed(following, code, detail);
    if (type !== "snapshot" && type !== "changes") return;
    this.failures = following.failures = 0;
    this.tell(following, "live");
    guard(() => (type === "snapshot" ? following.own.snapshot(documents, complete) : following.own.changes(changes)));
  }

  private closed(following: Following, code: string, detail: unknown): void {
    if (!PASSING.includes(code)) return this.leave(following, problemOf(code, detail));
    this.tell(following, "stale");
    following.timer = setTimeout(() => this.again(following), backoff(following.failures++));
  }

  private lose({ code, reason }: { code: number; reason: string }): void {
    this.drop();
    for (const each of this.followings.values()) this.tell(each, each.state === "connecting" ? "connecting" : "stale");
    const isFinal = code in FINAL || (code === 4401 && ++this.refusals >= REFUSALS);
    if (isFinal) return this.finish(problemOf(code, reason || FINAL[code] || "The credential is no longer valid"));
    if (code === 4401 && this.held) return void this.core.sessions.renew(this.held).then(() => this.retry(), () => this.retry());
    this.retry(code === 1012 ? readWait(reason) : null);
  }

  private retry(wait: number | null = null): void {
    if (this.followings.size) this.timer = setTimeout(() => this.open(), wait ?? backoff(this.failures++));
  }

  private listen(): void {
    this.heardAt = Date.now();
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.open(), SILENCE_MS);
  }

  /** Leaves the socket, whose frames are not read any more. */
  private drop(): void {
    this.attempt++;
    clearTimeout(this.watchdog);
    const left = this.socket;
    this.socket = null;
    left?.close();
  }

  private end(): void {
    clearTimeout(this.timer);
    for (const stop of this.stops) stop();
    this.stops = [];
    this.drop();
  }
}

function readWait(reason: string): number | null {
  try {
    return JSON.parse(reason).retry_after * 1000;
  } catch {
    return null;
  }
}
