/** The latest requests of a project, with filters in the address. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { useLive } from "../app/live.js";
import { usePages } from "../app/pages-of.js";
import { go, link, place, replace } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { Moment, number } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { Chip } from "../parts/chip.js";
import { Dialog } from "../parts/dialog.js";
import { DialogFoot, Field, Select, useForm } from "../parts/form.js";
import { Histogram } from "../parts/histogram.js";
import { Icon } from "../parts/icon.js";
import { Panel } from "../parts/panel.js";
import { Copy } from "../parts/secret.js";
import { Empty, Loaded } from "../parts/states.js";
import { Choice } from "../parts/tabs.js";

const FIELDS = { route: "Route", method: "Method", status: "Status", code: "Code", key_id: "Key", user_id: "User", operator_id: "Operator", request_id: "Request", min_ms: "Milliseconds, at least" };
const STATUSES = { "": "All", "4xx": "4xx", "5xx": "5xx", slow: "Slow" };
const SPANS = /** @type {Record<string, number>} */ ({ hour: 3_600_000, day: 86_400_000 });
const SLOW_MS = "1000";
const MOST_FRESH = 500;

/** True where a request that just came is one of those that the service would list. @param {any} row @param {Record<string, any>} query */
const matches = (row, { since, limit, status = "", min_ms = 0, ...equal }) =>
  (!status || String(row.status).startsWith(status.replace(/xx$/, ""))) && row.ms >= Number(min_ms) && Object.entries(equal).every(([name, value]) => row[name] === value);

/** @param {number} status @returns {string} */
const tone = (status) => (status >= 400 ? "bad" : "good");

/** @param {{ project: string }} given */
export default function Logs({ project }) {
  const [isAdding, add] = useState(false);
  const here = ["projects", project, "logs"];
  const state = Object.fromEntries(place.value.query);
  const filters = Object.keys(FIELDS).filter((name) => state[name]);
  const to = (/** @type {Record<string, string>} */ change) => link(here, { ...state, ...change });
  const [asked, setAsked] = useState(Date.now());
  const span = SPANS[state.last ?? ""];
  const query = { ...Object.fromEntries(filters.map((name) => [name, state[name] ?? ""])), since: span ? new Date(asked - span).toISOString() : "", limit: 100 };
  const [isLive, follow] = useState(true);
  const [fresh, setFresh] = useState(/** @type {any[]} */ ([]));
  const isOpen = useLive(project, "requests", isLive, ({ entries }) => setFresh((old) => [...entries.toReversed(), ...old].slice(0, MOST_FRESH)));
  const { loading, rows: listed, next, more } = usePages(`projects/${encodeURIComponent(project)}/requests`, query, "requests");
  const { act, notice } = useAction(() => undefined);
  const known = new Set(listed.map(({ id }) => id));
  const rows = [...fresh.filter((row) => !known.has(row.id) && matches(row, query)), ...listed];
  const chosen = rows.find(({ id }) => id === state.entry);
  const refresh = () => { setAsked(Date.now()); loading.reload(); };
  const kind = state.min_ms === SLOW_MS ? "slow" : (state.status ?? "");
  const choose = (/** @type {string} */ value) => go(to({ status: value === "slow" ? "" : value, min_ms: value === "slow" ? SLOW_MS : "", entry: "" }));
  return html`<main class="main"><${Bar} title="Logs" count=${isOpen ? html`<span class="row"><span class="dot dot-live good" />live</span>` : ""}>
      <button class="button" onClick=${() => follow(!isLive)}><${Icon} name=${isLive ? "pause" : "play"} />${isLive ? "Pause" : "Follow"}</button><button class="button" onClick=${refresh}><${Icon} name="refresh-cw" />Refresh</button><//>
    <div class="bar toolbar"><${Span} last=${state.last ?? ""} to=${to} />
      ${filters.filter((name) => name !== "status" && !(name === "min_ms" && kind === "slow")).map((name) => html`<${Chip} key=${name} word=${FIELDS[/** @type {keyof typeof FIELDS} */ (name)]} value=${state[name] ?? ""} remove=${() => go(to({ [name]: "", entry: "" }))} />`)}
      <button class="chip chip-add" onClick=${() => add(true)}><${Icon} name="plus" small />Filter</button><span class="bar-rule" />
      <${Choice} label="Status" value=${kind in STATUSES ? kind : "other"} choices=${kind in STATUSES ? STATUSES : { ...STATUSES, other: kind }} choose=${choose} /></div>
    <div class="split"><div class="column"><${Histogram} project=${project} /><div class="scroll" tabindex="0" role="region" aria-label="Requests">${notice}<${Loaded} loading=${loading}>
        ${rows.length > 0 && html`<${Table} rows=${rows} chosen=${state.entry ?? ""} to=${to} />`}
        ${rows.length === 0 && loading.data && (filters.length || span ? html`<${Empty} icon="search" title="Nothing matches"><button class="button" onClick=${() => replace(link(here))}>Clear the filters</button><//>`
          : html`<${Empty} icon="scroll-text" title="No requests yet"><p>A request to this project stands here a second after its answer.</p><//>`)}
        ${next && html`<p class="more more-below"><button class="button" onClick=${() => act(more)}>Show more</button></p>`}<//></div>
        <${Foot} page=${loading.data} /></div>
      ${chosen && html`<${Entry} key=${chosen.id} project=${project} entry=${chosen} to=${to} close=${() => replace(to({ entry: "" }))} />`}</div>
    ${isAdding && html`<${NewFilter} close=${() => add(false)} add=${(/** @type {Record<string, string>} */ change) => go(to({ ...change, entry: "" }))} />`}
  </main>`;
}

/** @param {{ last: string, to: (change: Record<string, string>) => string }} given */
function Span({ last, to }) {
  return html`<select class="input input-small span" aria-label="Time" onChange=${(/** @type {Event} */ event) => go(to({ last: /** @type {HTMLSelectElement} */ (event.currentTarget).value, entry: "" }))}>
    ${[["", "Any time"], ["hour", "Last hour"], ["day", "Last day"]].map(([value, text]) => html`<option key=${value} value=${value} selected=${value === last}>${text}</option>`)}</select>`;
}

/** @param {{ rows: any[], chosen: string, to: (change: Record<string, string>) => string }} given */
function Table({ rows, chosen, to }) {
  return html`<table class="table table-rows table-sticky table-tight"><thead><tr><th>Time</th><th>Status</th><th class="wide">Method</th><th>Route</th><th class="wide">Code</th><th class="number">ms</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.id} class="openable" aria-selected=${row.id === chosen ? "true" : "false"} onClick=${() => go(to({ entry: row.id }))}>
      <td><a class="faint" href=${to({ entry: row.id })} onClick=${(/** @type {Event} */ event) => event.stopPropagation()}><${Moment} at=${row.at} /></a></td><td class=${`status ${tone(row.status)}`}>${row.status}</td>
      <td class="soft wide">${row.method}</td><td class="fill"><span class="mono">${row.route}</span></td><td class="soft wide">${row.code}</td>
      <td class=${`number ${row.ms >= 1000 ? "warn" : ""}`}>${number(Math.round(row.ms))}</td></tr>`)}</tbody></table>`;
}

/** @param {{ page: any }} given */
function Foot({ page }) {
  if (!page) return null;
  return html`<footer class="bar-foot"><span class="cut">${page.skipped > 0 && `${number(page.skipped)} more of the deployment were answered and not listed. `}
    ${page.oldest && html`The oldest that is kept is of <${Moment} at=${page.oldest} day />.`}</span></footer>`;
}

/** @param {{ project: string, entry: any, to: (change: Record<string, string>) => string, close: () => void }} given */
function Entry({ project, entry, to, close }) {
  const only = (/** @type {string} */ name, /** @type {string} */ text) => html`<a class="small" href=${to({ [name]: entry[name], entry: "" })}>${text}</a>`;
  return html`<${Panel} title=${`${entry.method} ${entry.route}`} name="Request" size="narrow" close=${close} side=${html`<span class=${`badge badge-${tone(entry.status)}`}>${entry.status}</span>`}><div class="panel-body">
    ${entry.rule && html`<div class="result result-bad"><${Icon} name="shield-x" /><div><b>A rule refused</b><br /><code class="soft" dir="auto">${entry.rule}</code></div></div>`}
    <dl class="facts facts-spaced"><dt>Time</dt><dd><${Moment} at=${entry.at} day /></dd><dt>Method</dt><dd>${entry.method}</dd>
      <dt>Route</dt><dd><code>${entry.route}</code> ${only("route", "only this")}</dd>${entry.code && html`<dt>Code</dt><dd><code>${entry.code}</code></dd>`}
      <dt>Took</dt><dd>${number(entry.ms)} ms, ${number(entry.bytes)} bytes</dd>
      ${entry.user_id && html`<dt>User</dt><dd>${allows(project, "users") ? html`<a href=${link(["projects", project, "users", entry.user_id])}><code>${entry.user_id}</code></a>` : html`<code>${entry.user_id}</code>`} ${only("user_id", "only theirs")}</dd>`}
      ${entry.key_id && html`<dt>Key</dt><dd><code>${entry.key_id}</code> ${only("key_id", "only its")}</dd>`}
      ${entry.operator_id && html`<dt>Operator</dt><dd><code>${entry.operator_id}</code> ${only("operator_id", "only theirs")}</dd>`}
      <dt>Request</dt><dd><code>${entry.request_id}</code> <${Copy} text=${entry.request_id} name="the request's id" /></dd></dl>
    <p class="small faint note-last">Addresses, queries and bodies are not kept.</p></div><//>`;
}

/** @param {{ close: () => void, add: (change: Record<string, string>) => void }} given */
function NewFilter({ close, add }) {
  const form = useForm({ name: "route", value: "" }, async ({ name, value }) => {
    close();
    add({ [name ?? ""]: (value ?? "").trim() });
  });
  return html`<${Dialog} title="New filter" close=${close}><form onSubmit=${form.submit}><div class="dialog-body">
    <${Select} form=${form} name="name" label="Requests by" choices=${FIELDS} /><${Field} form=${form} name="value" label="Value" autofocus /></div>
    <${DialogFoot} form=${form} action="Filter" close=${close} /></form><//>`;
}
