// A board that all who look at it see alike. What is shown is what the service tells, one's own changes among it; the rules of the
// project decide who may read and write.
import {ask, begin, byId, isConnected, settings, signOut, signedIn, submitting, trying} from "../project.js";
import {follow} from "./live.js";

const CARDS = "/api/collections/cards/documents";
const COLUMNS = ["todo", "doing", "done"];
const SAID = {connecting: "Connecting", live: "Live", stale: "Connection lost; trying again", refused: "Not connected"};
// id → its version and how it is drawn; and the button that has the focus, also while its card is between two columns.
const items = new Map();
let stop = null, wantsIn = false, isFirst = true, held = null;

function show() {
  const who = signedIn(), connected = isConnected();
  if (who) wantsIn = false;
  byId("connect").hidden = connected;
  byId("enter").hidden = !connected || !wantsIn;
  byId("write").hidden = byId("who").hidden = !who;
  byId("sign-in").hidden = !connected || Boolean(who) || wantsIn;
  byId("board").hidden = byId("state").hidden = !connected;
  stop?.();
  items.clear();
  isFirst = true;
  if (connected) stop = followed(who);
}

const followed = (who) => follow({
  service: settings.service,
  query: {collection: "cards", sort_by: "created_at", limit: 100},
  credential: () => who ? {token: who.token} : {key: settings.key},
  show: draw,
  report: (state, detail, code) => {
    byId("state").dataset.state = byId("board").dataset.state = state;
    byId("state").textContent = SAID[state];
    if (state === "refused") byId("problem").textContent = detail;
    // Another credential does not help a user who has too many pages open.
    if (state === "refused" && who && code !== 4429) signOut();
  },
});

function draw(cards) {
  const focused = placeOf(document.activeElement) ?? held;
  const sorted = [...cards.values()].sort((one, other) => one.created_at < other.created_at ? -1 : 1);
  for (const column of COLUMNS) {
    const place = document.querySelector(`[data-column=${column}]`), list = place.querySelector("ul");
    const found = sorted.filter((card) => card.data.column === column).map(itemOf);
    place.querySelector(".count").textContent = found.length;
    // What is as it was stays in the page, for somebody may be dragging it.
    if (found.length !== list.children.length || found.some((item, at) => item !== list.children[at])) list.replaceChildren(...found);
  }
  for (const id of items.keys()) if (!cards.has(id)) items.delete(id);
  isFirst = false;
  focusAgain(focused);
}

function itemOf(card) {
  const kept = items.get(card.id);
  if (kept?.version === card.version) return kept.item;
  const item = drawn(card);
  item.classList.toggle("new", !isFirst);
  items.set(card.id, {version: card.version, item});
  return item;
}

// Whoever moves a card by the keyboard stays at it, in whatever column it is drawn next.
function placeOf(element) {
  const item = element?.closest("li");
  return item && element !== document.body ? {id: item.dataset.id, does: element.dataset.does} : null;
}

function focusAgain(focused) {
  held = focused;
  if (!focused || placeOf(document.activeElement) || document.activeElement !== document.body) return;
  const buttons = items.get(focused.id)?.item.querySelectorAll("button:not(:disabled)") ?? [];
  ([...buttons].find((button) => button.dataset.does === focused.does) ?? buttons[0])?.focus();
}

function drawn(card) {
  const item = byId("card").content.cloneNode(true).querySelector("li"), who = signedIn();
  item.dataset.id = card.id;
  item.querySelector("p").textContent = card.data.text;
  item.querySelector(".tools").hidden = !who;
  item.draggable = Boolean(who);
  item.ondragstart = (event) => event.dataTransfer.setData("text/plain", card.id);
  const at = COLUMNS.indexOf(card.data.column);
  const actions = {
    back: at > 0 && (() => move(card.id, COLUMNS[at - 1])),
    on: at < COLUMNS.length - 1 && (() => move(card.id, COLUMNS[at + 1])),
    delete: () => ask("DELETE", `${CARDS}/${card.id}`),
  };
  for (const button of item.querySelectorAll("button")) {
    const action = actions[button.dataset.does];
    button.disabled = !action;
    button.setAttribute("aria-label", `${button.title}: ${card.data.text}`);
    button.onclick = () => { held = placeOf(button); trying(item, action); };
  }
  return item;
}

const move = (id, column) => ask("PATCH", `${CARDS}/${id}`, {data: {column}});

for (const place of document.querySelectorAll("[data-column]")) {
  place.ondragover = (event) => { event.preventDefault(); place.classList.add("over"); };
  place.ondragleave = () => place.classList.remove("over");
  place.ondrop = (event) => {
    event.preventDefault();
    place.classList.remove("over");
    const id = event.dataTransfer.getData("text/plain");
    if (items.has(id)) trying(place, () => move(id, place.dataset.column));
  };
}

submitting(byId("write"), () => ask("POST", CARDS, {data: {text: byId("write").text.value}}));

byId("sign-in").onclick = () => { wantsIn = true; show(); byId("enter").email.focus(); };
byId("look").onclick = () => { wantsIn = false; show(); };
begin("board", show);
