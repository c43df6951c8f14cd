// Shows the newest mails, and asks for new ones every other second while the page is looked at.
"use strict";

const EVERY = 2000;
const list = document.getElementById("mails");
const shown = document.getElementById("mail");
const empty = shown.innerHTML;
let mails = [];
let chosen = null;

function make(name, text, attributes = {}) {
  const element = document.createElement(name);
  element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function when(mail) {
  return new Date(mail.created_at).toLocaleString();
}

function entry(mail) {
  const button = make("button", "", { type: "button", "aria-current": String(mail.id === chosen) });
  button.append(make("strong", mail.subject || mail.kind), make("span", `${mail.to || "sent"} · ${when(mail)}`));
  button.addEventListener("click", () => choose(mail.id));
  const item = document.createElement("li");
  item.append(button);
  return item;
}

function copied(text) {
  const button = make("button", "Copy the code", { type: "button", class: "copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  });
  return button;
}

function proofs(mail) {
  const row = make("div", "", { class: "proofs" });
  if (mail.code) row.append(make("span", mail.code, { class: "code" }), copied(mail.code));
  if (mail.link) row.append(make("a", "Open the link", { href: mail.link, target: "_blank", rel: "noreferrer" }));
  return row;
}

function show() {
  const mail = mails.find((each) => each.id === chosen);
  if (!mail) {
    shown.innerHTML = empty;
    return;
  }
  const facts = make("p", "", { class: "facts" });
  facts.append(make("span", mail.to || "sent"), make("span", mail.kind), make("span", when(mail)));
  shown.replaceChildren(make("h2", mail.subject || mail.kind), facts);
  if (mail.code || mail.link) shown.append(proofs(mail));
  if (mail.html) {
    const frame = make("iframe", "", { title: "The mail", sandbox: "allow-popups allow-popups-to-escape-sandbox" });
    frame.srcdoc = mail.html.replace("<head>", '<head><base target="_blank">');
    shown.append(frame);
  } else {
    shown.append(make("p", "This mail was sent; nothing of what it said is kept.", { class: "facts" }));
  }
}

function choose(id) {
  chosen = id;
  list.replaceChildren(...mails.map(entry));
  show();
}

async function refresh() {
  const answer = await fetch("/mailbox/messages");
  if (!answer.ok) return;
  const found = (await answer.json()).messages;
  if (JSON.stringify(found.map((mail) => [mail.id, mail.html === null])) ===
      JSON.stringify(mails.map((mail) => [mail.id, mail.html === null]))) return;
  mails = found;
  document.getElementById("count").textContent = mails.length === 1 ? "1 mail" : `${mails.length} mails`;
  choose(mails.some((mail) => mail.id === chosen) ? chosen : mails.length ? mails[0].id : null);
}

document.getElementById("refresh").addEventListener("click", refresh);
setInterval(() => document.hidden || refresh().catch(() => {}), EVERY);
refresh().catch(() => {});
