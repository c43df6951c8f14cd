/** The socket that the live lists of one client share: it is opened for the first list and closed after the last. */
import type { Core } from "./client.js";
import { RequestError, sentence, type ServiceError } from "./errors.js";
import { guard } from "./listeners.js";
import type { Held } from "./transport.js";
import type { FrameChange } from "./windows.js";

/** `stale`: what is shown may be old. `closed`: nothing follows. */
export type LiveState = "connecting" | "live" | "stale" | "closed";
export type Socket = new (url: string) => WebSocket;
export interface Follower {
  /** All documents of the list, or changes of what is known. */
  data(documents: any[] | undefined, changes: FrameChange<any>[], isComplete: boolean): void;
  state(state: LiveState, problem?: ServiceError): void;
}
/** One list: `id` is new for each subscription, so that frames of an earlier one are known as such. */
export interface Following {
  id: string;
  query: object;
  own: Follower;
  cursor?: string | undefined;
  state: LiveState;
  failures: number;
  timer?: Timer;
}
export interface Line {
  follow(query: object, own: Follower): Following;
  leave(following: Following, problem?: ServiceError): void;
  /** Asks for the list again. The shown documents stay until the snapshot is there. */
  again(following: Following): void;
}
type Timer = ReturnType<typeof setTimeout>;
type Frame = Record<string, any>;

const SILENCE_MS = 60_000, QUIET_MS = 30_000, FIRST_MS = 500, LONGEST_MS = 30_000, REFUSALS = 3, OPEN = 1;
/** Codes of `closed` after which the same list may succeed. */
const PASSING = ["unavailable", "busy", "query_too_slow"];
/** Codes of a socket that the service would close again: a protocol it does not know, a wrong page or key, too many. */
const FINAL = [4400, 4403, 4429];
const backoff = (failures: number): number => Math.random() * Math.min(LONGEST_MS, FIRST_MS * 2 ** failures);
const problemOf = (code: unknown, detail: unknown): ServiceError => new RequestError({ code: String(code), message: sentence(detail) });

export function makeLine({ sessions, transport: { url, key }, closing }: Core, Socket: Socket): Line {
  const followings = new Map<string, Following>();
  let socket: WebSocket | null = null, held: Held | null = null, timer: Timer | undefined, watchdog: Timer | undefined;
  let attempt = 0, failures = 0, refusals = 0, count = 0, heardAt = 0, ending = new AbortController();

  const say = (message: Frame) => {
    if (socket?.readyState === OPEN) socket.send(JSON.stringify(message));
  };
  const subscribe = ({ id, query, cursor }: Following) => say({ type: "subscribe", id, ...query, ...(cursor && { after: cursor }) });
  const unsubscribe = ({ id }: Following): boolean => {
    const isKnown = followings.delete(id);
    if (isKnown) say({ type: "unsubscribe", id });
    return isKnown;
  };
  const register = (following: Following) => followings.set((following.id = `s${++count}`), following);
  const finish = (problem?: ServiceError) => {
    for (const each of [...followings.values()]) leave(each, problem);
  };
  closing.add(finish);

  function tell(following: Following, state: LiveState, problem?: ServiceError): void {
    if (following.state === state) return;
    following.state = state;
    guard(() => following.own.state(state, problem));
  }

  function follow(query: object, own: Follower): Following {
    const following = { query, own, failures: 0 } as Following;
    register(following);
    tell(following, "connecting");
    if (followings.size === 1) begin();
    else subscribe(following);
    return following;
  }

  function leave(following: Following, problem?: ServiceError): void {
    clearTimeout(following.timer);
    if (!unsubscribe(following)) return;
    tell(following, "closed", problem);
    if (!followings.size) end();
  }

  function again(following: Following): void {
    if (!unsubscribe(following)) return;
    following.cursor = undefined;
    register(following);
    tell(following, "stale");
    subscribe(following);
  }

  function begin(): void {
    const { signal } = (ending = new AbortController());
    signal.addEventListener("abort", sessions.listen(hearSession));
    for (const event of ["online", "visibilitychange"]) globalThis.addEventListener?.(event, wake, { signal });
    // Lists that a page begins in one turn are all part of the first connection.
    retry(0);
  }

  function end(): void {
    ending.abort();
    drop();
  }

  /** The network is back, or the page is shown. */
  function wake({ type }: Event): void {
    if (type === "online" || (!document.hidden && (!socket || Date.now() - heardAt > QUIET_MS))) open();
  }

  function hearSession(event: string): void {
    if (event === "refreshed") pass().catch(() => {});
    if (!event.startsWith("signed")) return;
    // Another user: nothing goes on where it was.
    for (const each of followings.values()) each.cursor = undefined;
    refusals = 0;
    open();
  }

  /** Sends a newer token than the one that the service knows. */
  async function pass(): Promise<void> {
    const next = await sessions.find();
    if (next && next.token !== held?.token) say({ type: "token", token: (held = next).token });
  }

  /** Gets a newer token before the present one ends. Its event makes the line send it. */
  async function freshen(): Promise<void> {
    const session = await sessions.read();
    await (session && session.access_token === held?.token ? sessions.refresh({}, session) : pass());
  }

  function open(): void {
    drop();
    const own = attempt;
    // Another attempt may have begun meanwhile.
    sessions.find().then((found) => own === attempt && connect(found), () => own === attempt && retry());
  }

  function connect(found: Held | null): void {
    const opened = (socket = new Socket(`${url.replace(/^http/, "ws")}/realtime`));
    held = found;
    listen();
    opened.onopen = () => {
      say({ type: "hello", ...(found ? { token: found.token } : { key }) });
      followings.forEach(subscribe);
    };
    opened.onmessage = ({ data }) => {
      if (opened !== socket) return;
      listen();
      read(JSON.parse(data));
    };
    opened.onclose = (event) => opened === socket && lose(event);
  }

  function read({ type, id, cursor, cursors = { [id]: cursor }, documents, complete, changes, code, detail }: Frame): void {
    for (const each of followings.values()) each.cursor = cursors[each.id] ?? each.cursor;
    if (type === "ready") refusals = 0;
    // If that fails, the socket ends with its token, and comes back with another one.
    if (type === "token_expiring") freshen().catch(() => {});
    const following = followings.get(id);
    if (!following) return;
    if (type === "resync") tell(following, "stale");
    if (type === "error" || type === "closed") closed(following, code ?? type, detail);
    if (!documents && !changes) return;
    failures = following.failures = 0;
    tell(following, "live");
    guard(() => following.own.data(documents, changes ?? [], complete));
  }

  function closed(following: Following, code: string, detail: unknown): void {
    if (!PASSING.includes(code)) return leave(following, problemOf(code, detail));
    tell(following, "stale");
    following.timer = setTimeout(() => again(following), backoff(following.failures++));
  }

  function lose({ code, reason }: { code: number; reason: string }): void {
    drop();
    const isRefused = code === 4401;
    if (FINAL.includes(code) || (isRefused && ++refusals >= REFUSALS))
      return finish(problemOf(code, reason || "The socket was refused"));
    if (isRefused && held) return void sessions.renew(held).finally(() => retry()).catch(() => {});
    // A service that restarts says in how many seconds its clients shall come back.
    retry(Number(/"retry_after": ?([\d.]+)/.exec(reason)?.[1]) * 1000 || undefined);
  }

  function retry(wait = backoff(failures++)): void {
    if (followings.size) timer = setTimeout(open, wait);
  }

  function listen(): void {
    heardAt = Date.now();
    clearTimeout(watchdog);
    watchdog = setTimeout(open, SILENCE_MS);
  }

  /** Leaves the socket, whose frames are not read any more, and waits for no other one. */
  function drop(): void {
    attempt++;
    clearTimeout(timer);
    clearTimeout(watchdog);
    const left = socket;
    socket = null;
    left?.close();
    for (const each of followings.values()) if (each.state !== "connecting") tell(each, "stale");
  }
  return { follow, leave, again };
}
