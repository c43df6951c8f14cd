/** The audit log, of a project or of the deployment: who changed what, with the values before and after. */
import { html } from "../app/html.js";
import { usePages } from "../app/pages-of.js";
import { go, link, place, replace } from "../app/router.js";
import { Bar } from "../app/shell.js";
import { initials, Moment, Time } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { ACTIONS, describeAction } from "../parts/actions-words.js";
import { Chip } from "../parts/chip.js";
import { Difference } from "../parts/difference.js";
import { Icon } from "../parts/icon.js";
import { Panel } from "../parts/panel.js";
import { Copy } from "../parts/secret.js";
import { Empty, Loaded } from "../parts/states.js";

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const ICONS = /** @type {Record<string, string>} */ ({ token: "key-round", secret_key: "key-round", cli: "terminal", system: "server" });

/** @param {{ project: string }} given Empty for the deployment. */
export default function Audit({ project }) {
  const here = project ? ["projects", project, "audit"] : ["audit"];
  const state = Object.fromEntries(place.value.query);
  const to = (/** @type {Record<string, string>} */ change) => link(here, { ...state, ...change });
  const query = { action: state.action ?? "", actor: state.actor ?? "", target: state.target ?? "", limit: 100 };
  const isFiltered = !!(query.action || query.actor || query.target);
  const { loading, rows, next, more } = usePages(project ? `projects/${encodeURIComponent(project)}/audit` : "audit", query, "entries");
  const { act, notice } = useAction(() => undefined);
  const chosen = rows.find(({ id }) => id === state.entry);
  const select = (/** @type {Event} */ event) => go(to({ action: /** @type {HTMLSelectElement} */ (event.currentTarget).value, entry: "" }));
  return html`<main class="main"><${Bar} title="Audit"><button class="button" onClick=${loading.reload}><${Icon} name="refresh-cw" />Refresh</button><//>
    <div class="bar toolbar"><select class="input input-small span" aria-label="Action" onChange=${select}><option value="">Any action</option>
        ${Object.entries(ACTIONS).map(([name]) => html`<option key=${name} value=${name} selected=${name === query.action}>${name}</option>`)}</select>
      ${query.actor && html`<${Chip} word="By" value=${rows[0]?.actor.name ?? query.actor} remove=${() => go(to({ actor: "", entry: "" }))} />`}
      ${query.target && html`<${Chip} word="About" value=${rows[0]?.target.name ?? query.target} remove=${() => go(to({ target: "", entry: "" }))} />`}</div>
    <div class="split"><div class="scroll" tabindex="0" role="region" aria-label="Entries">${notice}<${Loaded} loading=${loading}>
        ${rows.length > 0 && html`<${Table} rows=${rows} chosen=${state.entry ?? ""} to=${to} />`}
        ${rows.length === 0 && loading.data && (isFiltered ? html`<${Empty} icon="search" title="Nothing matches"><button class="button" onClick=${() => replace(link(here))}>Clear the filters</button><//>`
          : html`<${Empty} icon="history" title="No entries yet"><p>Each change of the configuration leaves one.</p><//>`)}
        ${next && html`<p class="more more-below"><button class="button" onClick=${() => act(more)}>Show more</button></p>`}<//></div>
      ${chosen && html`<${Entry} key=${chosen.id} entry=${chosen} to=${to} close=${() => replace(to({ entry: "" }))} />`}</div>
  </main>`;
}

/** @param {{ rows: any[], chosen: string, to: (change: Record<string, string>) => string }} given */
function Table({ rows, chosen, to }) {
  const days = [...Map.groupBy(rows, ({ at }) => DAY.format(new Date(at)))];
  return html`<table class="table table-rows table-audit"><thead class="unseen"><tr><th>Time</th><th>Author</th><th>Action</th></tr></thead>
    ${days.map(([day, entries]) => html`<tbody key=${day}><tr class="day"><th colspan="3" scope="rowgroup">${day}</th></tr>
      ${entries.map((entry) => html`<tr key=${entry.id} class="openable" aria-selected=${entry.id === chosen ? "true" : "false"} onClick=${() => go(to({ entry: entry.id }))}>
        <td><a class="faint" href=${to({ entry: entry.id })} onClick=${(/** @type {Event} */ event) => event.stopPropagation()}><${Moment} at=${entry.at} /></a></td>
        <td><span class="row"><span class="avatar avatar-word" aria-hidden="true">${ICONS[entry.actor.kind] ? html`<${Icon} name=${ICONS[entry.actor.kind]} small />` : initials(entry.actor.name ?? "")}</span>
          <span class="cut actor" dir="auto">${entry.actor.name ?? entry.actor.kind}</span></span></td>
        <td class="fill">${describeAction(entry.action)} <b dir="auto">${entry.target.name ?? entry.target.id}</b>${entry.status === "begun" && html` <span class="badge badge-warn">begun</span>`}${entry.status >= 400 && html` <span class="badge badge-bad">${entry.status}</span>`}</td></tr>`)}</tbody>`)}</table>`;
}

/** @param {{ entry: any, to: (change: Record<string, string>) => string, close: () => void }} given */
function Entry({ entry, to, close }) {
  const { actor, target } = entry;
  return html`<${Panel} title=${`${describeAction(entry.action)} ${target.name ?? target.id}`} name="Entry" size="wide" close=${close}><div class="panel-body">
    <dl class="facts"><dt>By</dt><dd dir="auto">${actor.name ?? actor.kind}, ${actor.kind.replace("_", " ")}${actor.id && html` <a class="small" href=${to({ actor: actor.id, entry: "" })}>only theirs</a>`}</dd>
      <dt>Time</dt><dd><${Time} at=${entry.at} /></dd><dt>Action</dt><dd><code>${entry.action}</code></dd>
      <dt>About</dt><dd dir="auto">${target.type} <code>${target.id}</code> <a class="small" href=${to({ target: target.id, entry: "" })}>only about it</a></dd>
      ${entry.project_id && html`<dt>Project</dt><dd><a href=${link(["projects", entry.project_id])}>${entry.project_id}</a></dd>`}
      ${entry.status !== null && html`<dt>Status</dt><dd>${entry.status}</dd>`}${entry.reason && html`<dt>Reason</dt><dd dir="auto">${entry.reason}</dd>`}
      ${entry.ip && html`<dt>From</dt><dd>${entry.ip}<br /><span class="faint" dir="auto">${entry.user_agent}</span></dd>`}
      ${entry.request_id && html`<dt>Request</dt><dd><code>${entry.request_id}</code></dd>`}</dl>
    ${entry.changes.length > 0 && html`<section class="panel-section push-down" aria-label="Changes"><div class="row change-heads"><h3>Before</h3><h3>After</h3></div><${Difference} changes=${entry.changes} />
      ${entry.omitted > 0 && html`<p class="faint">${entry.omitted} more are not kept.</p>`}</section>`}
    <div><${Copy} text=${JSON.stringify(entry, null, 2)} name="as JSON" /></div></div><//>`;
}
