// Follows queries of an auth-collections service, and goes on following them when the connection ends. No library, no build.
// All queries of a page that have the same credential share one socket: a user has ten of them, and a socket carries 100 queries.
const FIRST_WAIT = 1000, LONGEST_WAIT = 30000;
// The service sends something every 25 seconds; a connection that is silent for longer is dead.
const SILENCE = 60000;
// Codes of `closed` after which the same subscription may succeed.
const PASSING = new Set(["unavailable", "busy", "query_too_slow"]);
// Close codes after which the same hello is refused again, and the reason where the service gives none.
const FINAL = {
  4401: "The credential is no longer valid",
  4403: "The service does not accept this page",
  4429: "This user has too many open pages, or the project's requests of the day are used up",
};
// Service and credential → the socket that its followers share.
const lines = new Map();

/* `query` is that of a subscription: collection, where, sort_by, sort_order, limit. `credential()` returns {token} or {key}; each
   new connection asks it again. `show(records)` is called with a Map of id → document after each change; `report(state, detail,
   code)` with "connecting", "live", "stale" (the records may be old), or "refused", after which nothing follows: `detail` is the
   reason and `code` that of `closed` or of the close. Returns a function that ends it. */
export function follow({service, query, credential, show, report}) {
  const name = `${service} ${JSON.stringify(credential())}`;
  if (!lines.has(name)) lines.set(name, new Line(service, () => lines.delete(name)));
  return lines.get(name).add({query, credential, show, report, records: new Map(), cursor: null, timer: 0, failures: 0});
}

// At random, so that thousands who lost the service together do not come back together.
const waiting = (failures) => Math.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures);

class Line {
  constructor(service, forget) {
    Object.assign(this, {service, forget, followers: new Map(), socket: null, failures: 0, timer: 0, watchdog: 0, count: 0});
    this.again = () => { this.leave(); this.open(); };
    addEventListener("online", this.again);
    // Queries that the page begins in the same turn are all part of the first connection.
    this.timer = setTimeout(() => this.open());
  }

  add(follower) {
    const id = String(++this.count);
    this.followers.set(id, follower);
    follower.report("connecting");
    if (this.socket?.readyState === WebSocket.OPEN) this.subscribe(id);
    return () => this.remove(id, {type: "unsubscribe", id});
  }

  remove(id, message) {
    clearTimeout(this.followers.get(id)?.timer);
    if (!this.followers.delete(id)) return;
    if (message && this.socket?.readyState === WebSocket.OPEN) this.say(message);
    if (!this.followers.size) this.end();
  }

  open() {
    clearTimeout(this.timer);
    const opened = this.socket = new WebSocket(this.service.replace(/^http/, "ws") + "/realtime");
    for (const each of this.followers.values()) each.report(each.cursor ? "stale" : "connecting");
    this.listen();
    opened.onopen = () => {
      this.say({type: "hello", ...this.followers.values().next().value.credential()});
      for (const id of this.followers.keys()) this.subscribe(id);
    };
    opened.onmessage = (event) => {
      this.listen();
      if (opened === this.socket) this.read(JSON.parse(event.data));
    };
    opened.onclose = (event) => {
      if (opened === this.socket) this.lose(event);
    };
  }

  say(message) {
    this.socket.send(JSON.stringify(message));
  }

  subscribe(id) {
    const {query, cursor} = this.followers.get(id);
    this.say({type: "subscribe", id, ...query, ...(cursor && {after: cursor})});
  }

  read(frame) {
    // Up to each cursor everything is known; the next connection begins with what is later.
    for (const [id, cursor] of Object.entries(frame.cursors ?? {})) if (this.followers.has(id)) this.followers.get(id).cursor = cursor;
    const follower = this.followers.get(frame.id);
    if (!follower) return;
    if (frame.type === "closed") return this.close(frame, follower);
    if (frame.type === "error") return this.refuse(frame.id, frame.detail, frame.type);
    if (frame.type === "snapshot") follower.records = new Map(frame.documents.map((each) => [each.id, each]));
    for (const change of frame.changes ?? [])
      change.op === "leave" ? follower.records.delete(change.document_id) : follower.records.set(change.document.id, change.document);
    follower.cursor = frame.cursor ?? follower.cursor;
    if (frame.type !== "snapshot" && frame.type !== "changes") return;
    this.failures = follower.failures = 0;
    follower.report("live");
    follower.show(follower.records);
  }

  close({id, code, detail}, follower) {
    if (!PASSING.has(code)) return this.refuse(id, detail, code);
    follower.report("stale");
    const {socket} = this, retry = () => { if (socket === this.socket && socket.readyState === WebSocket.OPEN) this.subscribe(id); };
    follower.timer = setTimeout(retry, waiting(follower.failures++));
  }

  lose({code, reason}) {
    if (code in FINAL) return [...this.followers.keys()].forEach((id) => this.refuse(id, reason || FINAL[code], code));
    for (const each of this.followers.values()) each.report("stale");
    const seconds = code === 1012 && JSON.parse(reason || "{}").retry_after;
    this.timer = setTimeout(() => this.open(), seconds ? seconds * 1000 : waiting(this.failures++));
  }

  refuse(id, detail, code) {
    const {report} = this.followers.get(id);
    this.remove(id);
    report("refused", Array.isArray(detail) ? detail.map((each) => each.msg).join("; ") : detail, code);
  }

  listen() {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(this.again, SILENCE);
  }

  leave() {
    const left = this.socket;
    this.socket = null;
    left?.close();
  }

  end() {
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    removeEventListener("online", this.again);
    this.forget();
    this.leave();
  }
}
