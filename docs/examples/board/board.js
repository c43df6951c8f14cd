// A board that all who look at it see alike. What is shown is what the service tells, one's own changes among it; the rules of the
// project decide who may read and write.
import {realtime} from "../client/realtime.js";
import {ac, begin, byId, submitting, trying, user} from "../project.js";

const COLUMNS = ["todo", "doing", "done"];
const SAID = {connecting: "Connecting", live: "Live", stale: "Connection lost; trying again", closed: "Not connected"};
// id → its version and how it is drawn; and the button that has the focus, also while its card is between two columns.
const items = new Map();
let live = null, wantsIn = false, isFirst = true, held = null;
const cards = () => ac.collection("cards");

function show() {
  if (user) wantsIn = false;
  byId("connect").hidden = Boolean(ac);
  byId("enter").hidden = !ac || !wantsIn;
  byId("write").hidden = byId("who").hidden = !user;
  byId("sign-in").hidden = !ac || Boolean(user) || wantsIn;
  byId("board").hidden = byId("state").hidden = !ac;
  live?.close();
  items.clear();
  isFirst = true;
  if (ac) live = realtime(ac).live("cards", {sort_by: "created_at", limit: 100}, {data: draw, state: report});
}

function report(state, problem) {
  byId("state").dataset.state = byId("board").dataset.state = state;
  byId("state").textContent = SAID[state];
  if (problem) byId("problem").textContent = problem.message;
}

function draw(documents) {
  const focused = placeOf(document.activeElement) ?? held;
  for (const column of COLUMNS) {
    const place = document.querySelector(`[data-column=${column}]`), list = place.querySelector("ul");
    const found = documents.filter((card) => card.data.column === column).map(itemOf);
    place.querySelector(".count").textContent = found.length;
    // What is as it was stays in the page, for somebody may be dragging it.
    if (found.length !== list.children.length || found.some((item, at) => item !== list.children[at])) list.replaceChildren(...found);
  }
  for (const id of items.keys()) if (!documents.some((card) => card.id === id)) items.delete(id);
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
  const item = byId("card").content.cloneNode(true).querySelector("li");
  item.dataset.id = card.id;
  item.querySelector("p").textContent = card.data.text;
  item.querySelector(".tools").hidden = !user;
  item.draggable = Boolean(user);
  item.ondragstart = (event) => event.dataTransfer.setData("text/plain", card.id);
  const at = COLUMNS.indexOf(card.data.column);
  const actions = {
    back: at > 0 && (() => move(card.id, COLUMNS[at - 1])),
    on: at < COLUMNS.length - 1 && (() => move(card.id, COLUMNS[at + 1])),
    delete: () => cards().delete(card.id),
  };
  for (const button of item.querySelectorAll("button")) {
    const action = actions[button.dataset.does];
    button.disabled = !action;
    button.setAttribute("aria-label", `${button.title}: ${card.data.text}`);
    button.onclick = () => { held = placeOf(button); trying(item, action); };
  }
  return item;
}

const move = (id, column) => cards().update(id, {data: {column}});

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

submitting(byId("write"), (form) => cards().create({text: form.text.value}));

byId("sign-in").onclick = () => { wantsIn = true; show(); byId("enter").email.focus(); };
byId("look").onclick = () => { wantsIn = false; show(); };
begin(show);
