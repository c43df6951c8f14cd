// Follows one query of an auth-collections service, and goes on following it when the connection ends. No library, no build.
const FIRST_WAIT = 1000, LONGEST_WAIT = 30000;
// The service says something every 25 seconds; a connection that is silent for longer is dead, whoever says otherwise.
const SILENCE = 60000;
const ID = "live";
// What is refused now and not for good.
const PASSING = new Set(["unavailable", "busy", "query_too_slow"]);

/* `query` is that of a subscription: collection, where, sort_by, sort_order, limit. `credential()` gives {token} or {key}, and is asked
   anew for each connection. `show(records)` is called with a Map of id → document whenever something is different;
   `report(state, detail)` with "connecting", "live", "stale" (what is shown may be old), or "refused", after which nothing follows.
   Returns a function that ends it. */
export function follow({service, query, credential, show, report}) {
  const records = new Map();
  let socket = null, cursor = null, failures = 0, timer = 0, watchdog = 0, ended = false;

  function open() {
    clearTimeout(timer);
    const opened = socket = new WebSocket(service.replace(/^http/, "ws") + "/realtime");
    const say = (message) => opened.send(JSON.stringify(message));
    report(cursor ? "stale" : "connecting");
    listen();
    opened.onopen = () => {
      say({type: "hello", ...credential()});
      say({type: "subscribe", id: ID, ...query, ...(cursor && {after: cursor})});
    };
    opened.onmessage = (event) => {
      listen();
      if (opened === socket) read(JSON.parse(event.data));
    };
    opened.onclose = (event) => {
      if (opened === socket) lose(event);
    };
  }

  function read(frame) {
    if (frame.type === "closed") PASSING.has(frame.code) ? socket.close() : refuse(frame.detail);
    if (frame.type === "snapshot") {
      records.clear();
      for (const each of frame.documents) records.set(each.id, each);
    }
    if (frame.type === "changes")
      for (const change of frame.changes)
        change.op === "leave" ? records.delete(change.document_id) : records.set(change.document.id, change.document);
    // Up to here everything is known; the next connection begins with what is later.
    cursor = frame.cursor ?? frame.cursors?.[ID] ?? cursor;
    if (frame.type === "snapshot" || frame.type === "changes") {
      failures = 0;
      report("live");
      show(records);
    }
  }

  function lose({code, reason}) {
    if (code === 4401 || code === 4403) return refuse(code === 4401 ? "The credential holds no longer" : "The service does not let this page in");
    report("stale");
    timer = setTimeout(open, code === 1012 ? JSON.parse(reason || "{}").retry_after * 1000 || 0 : waiting());
  }

  // At random, so that thousands who lost the service together do not come back together.
  const waiting = () => Math.random() * Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** failures++);

  function listen() {
    clearTimeout(watchdog);
    watchdog = setTimeout(again, SILENCE);
  }

  function again() {
    leave();
    if (!ended) open();
  }

  function leave() {
    const left = socket;
    socket = null;
    left?.close();
  }

  function refuse(detail) {
    end();
    report("refused", detail);
  }

  function end() {
    ended = true;
    clearTimeout(timer);
    clearTimeout(watchdog);
    removeEventListener("online", again);
    leave();
  }

  addEventListener("online", again);
  open();
  return end;
}
