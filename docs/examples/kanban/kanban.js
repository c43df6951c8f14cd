// A board of cards with pictures that its users see alike: sign-in, a live list, uploads and changes.
import { createClient, variant } from "@auth-collections/client";
import { realtime } from "@auth-collections/client/realtime";

const { service: url, key } = Object.fromEntries(new URL(location.href).searchParams);
const ac = createClient({ url, key }), cards = ac.collection("cards");
const COLUMNS = { todo: "To do", doing: "Doing", done: "Done" }, NAMES = Object.keys(COLUMNS);
const byId = (id) => document.getElementById(id);
let live = null;

async function attempt(action) {
  byId("problem").textContent = "";
  try {
    await action();
  } catch (error) {
    byId("problem").textContent = error.message;
  }
}

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

const button = (text, label, action) => make("button", { textContent: text, ariaLabel: label, onclick: () => attempt(action) });
const move = (id, column) => cards.update(id, { data: { column } });

function drawn({ id, data: { text, column, picture } }) {
  const at = NAMES.indexOf(column), item = make("li", {}, make("p", { textContent: text }));
  if (picture) item.append(make("img", { src: new URL(variant(picture, "thumb"), url), alt: "" }));
  if (at > 0) item.append(button("←", `Back: ${text}`, () => move(id, NAMES[at - 1])));
  if (at < NAMES.length - 1) item.append(button("→", `On: ${text}`, () => move(id, NAMES[at + 1])));
  item.append(button("×", `Delete: ${text}`, () => cards.delete(id)));
  return item;
}

function draw(documents) {
  const columns = NAMES.map((name) => {
    const items = documents.filter(({ data }) => data.column === name).map(drawn);
    return make("section", {}, make("h2", { textContent: COLUMNS[name] }), make("ul", { ariaLabel: COLUMNS[name] }, ...items));
  });
  byId("board").replaceChildren(...columns);
}

async function show() {
  const session = await ac.auth.session();
  byId("enter").hidden = session !== null;
  byId("leave").hidden = byId("write").hidden = byId("board").hidden = session === null;
  live?.close();
  live = session && realtime(ac).live("cards", { sort_by: "created_at", limit: 200 }, {
    data: draw,
    state: (state, problem) => (byId("state").textContent = problem?.message ?? state),
  });
}

byId("enter").onsubmit = (event) => {
  event.preventDefault();
  const { email, password } = Object.fromEntries(new FormData(event.target));
  attempt(() => (event.submitter.value === "signup" ? ac.auth.signup({ email, password }) : ac.auth.login(email, password)));
};

byId("write").onsubmit = (event) => {
  event.preventDefault();
  const form = event.target, { text, picture } = Object.fromEntries(new FormData(form)), bar = byId("progress");
  attempt(async () => {
    bar.hidden = !picture.size;
    const onProgress = (done, total) => (bar.value = done / total);
    await cards.create({ text, ...(picture.size && { picture }) }, picture.size ? { onProgress } : {});
    form.reset();
  }).finally(() => (bar.hidden = true));
};

byId("leave").onclick = () => attempt(() => ac.auth.logout());
// A sign-in of another tab is one of this tab as well.
ac.auth.onChange((event) => event.startsWith("signed") && show());
show();
