/** All projects of the operator, by name; and the dialog that makes one. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { go, link, place, replace } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { bytes, number } from "../app/texts.js";
import { Dialog } from "../parts/dialog.js";
import { Alert, DialogFoot, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Secret } from "../parts/secret.js";
import { Spark } from "../parts/spark.js";
import { Empty, Loaded } from "../parts/states.js";

const CURL = 'curl -X POST "$URL/admin/v1/projects" -H "Authorization: Bearer $TOKEN" \\\n  -H "Content-Type: application/json" -d \'{"name": "Shop"}\'';

export default function Projects() {
  const [isMaking, make] = useState(false);
  const [limit, setLimit] = useState(50);
  const q = place.value.query.get("q") ?? "";
  const loading = useLoading((signal) => call("projects", { query: { q, limit }, signal }), [q, limit]);
  const page = loading.data;
  const button = allows("*", "deployment", "write") && html`<button class="button button-primary" onClick=${() => make(true)}><${Icon} name="plus" />New project</button>`;
  return html`<main class="main">
    <${Bar} title="Projects" count=${page ? number(page.total) : ""}>${button}<//>
    <div class="bar toolbar"><label class="filter"><${Icon} name="search" small /><input class="input input-small" data-filter value=${q}
      placeholder="Filter by name or id" aria-label="Filter" maxlength="100"
      onInput=${(/** @type {InputEvent} */ event) => replace(link([], { q: /** @type {HTMLInputElement} */ (event.currentTarget).value }))} /></label></div>
    <div class="page"><div class="page-inner"><${Loaded} loading=${loading}>
      ${page && page.projects.length > 0 && html`<div class="projects">${page.projects.map((/** @type {any} */ each) => html`<${Card} key=${each.id} project=${each} />`)}</div>`}
      ${page?.projects.length === 0 && (q ? html`<${NoMatch} />` : html`<${None} button=${button} />`)}
      ${page?.next && limit < 200 && html`<p class="more"><button class="button" onClick=${() => setLimit(200)}>Show more</button></p>`}
      ${page?.next && limit === 200 && html`<p class="more soft">The first 200 are shown. Filter to see others.</p>`}
    <//></div></div>
    ${isMaking && html`<${NewProject} close=${() => make(false)} made=${loading.reload} />`}
  </main>`;
}

/** @param {{ project: any }} given */
function Card({ project }) {
  const { figures } = project;
  const of = (/** @type {string} */ name, write = number) => (figures ? write(figures[name]) : "–");
  return html`<a class="card project" href=${link(["projects", project.id])}>
    <div class="project-head"><h2 class="cut" dir="auto">${project.name}</h2><span class="id cut">${project.id}</span><span class="badge push">${project.role}</span></div>
    ${allows(project.id, "logs") && html`<${Spark} project=${project.id} isQuiet=${!figures?.requests_24h} />`}
    <dl class="project-figures">${[["Users", of("users")], ["Documents", of("documents")], ["Size", of("storage_bytes", bytes)], ["Errors, 24 h", of("errors_24h")]].map(([name, value]) => html`
      <div key=${name}><dt>${name}</dt><dd class=${name === "Errors, 24 h" && figures?.errors_24h ? "bad" : ""}>${value}</dd></div>`)}</dl>
  </a>`;
}

function NoMatch() {
  return html`<${Empty} icon="search" title="Nothing matches"><p>No name and no id has this text.</p>
    <button class="button" onClick=${() => replace("#/")}>Clear the filter</button><//>`;
}

/** @param {{ button: unknown }} given */
function None({ button }) {
  return html`<${Empty} icon="layout-grid" title="No projects yet">
    <p>${button ? "A project has its own users, data, rules and keys." : "You have no role in a project. An owner can give you one."}</p>${button}
    ${button && html`<pre class="code" tabindex="0" aria-label="The same as a command">${CURL}</pre>`}<//>`;
}

/** @param {string} name @returns {string} An id that the service takes: `Ferry times` gives `ferry-times`. */
export const proposeId = (name) =>
  name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 40).replace(/^-+|-+$/g, "");

/** @param {{ close: () => void, made: () => void }} given */
function NewProject({ close, made }) {
  const [keys, setKeys] = useState(/** @type {any} */ (null));
  const [hasOwnId, setOwnId] = useState(false);
  const form = useForm({ name: "", id: "" }, async ({ name, id }) => {
    setKeys(await call("projects", { method: "POST", body: { name, ...(id ? { id } : {}) } }));
    made();
  });
  const typing = { ...form, set: (/** @type {string} */ field, /** @type {string} */ value) => {
    form.set(field, value);
    if (field === "id") setOwnId(value !== "");
    if (field === "name" && !hasOwnId) form.set("id", proposeId(value));
  } };
  if (keys) return html`<${Keys} made=${keys} close=${close} />`;
  return html`<${Dialog} title="New project" close=${close}><form onSubmit=${form.submit}>
    <div class="dialog-body"><${Alert} form=${form} />
      <${Field} form=${typing} name="name" label="Name" autofocus />
      <${Field} form=${typing} name="id" label="Id" required=${false} hint="Lower-case letters, digits and hyphens. It stands in keys and addresses, and stays." />
    </div><${DialogFoot} form=${form} action="Create" close=${close} /></form><//>`;
}

/** @param {{ made: any, close: () => void }} given */
function Keys({ made, close }) {
  const keep = () => {
    close();
    go(link(["projects", made.project.id]));
  };
  return html`<${Dialog} title=${`The keys of ${made.project.name}`} close=${keep}><div class="dialog-body">
    <p class="soft">They are not shown again.</p>
    <${Secret} name="Secret key" text=${made.api_key} hint="For servers. It may do everything in the project." />
    <${Secret} name="Publishable key" text=${made.publishable_key} hint="For pages and apps. It may do what the rules allow." />
    </div><div class="dialog-foot"><button class="button button-primary" onClick=${keep}>I have kept them</button></div><//>`;
}
