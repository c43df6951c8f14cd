/** The usage of a project: requests by hour or day, how long they took, sizes, and the limits of the day. Without a project
 * it is that of the deployment, with its busiest projects. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLive } from "../app/live.js";
import { useLoading } from "../app/loading.js";
import { go, link, place } from "../app/router.js";
import { Bar } from "../app/shell.js";
import { bytes, number, Time } from "../app/texts.js";
import { Chart, label } from "../parts/chart.js";
import { Loaded } from "../parts/states.js";
import { Choice } from "../parts/tabs.js";

const STEPS = { hour: "24 hours", day: "30 days" };

/** @param {{ project: string }} given */
export default function Usage({ project }) {
  const step = place.value.query.get("step") === "day" ? "day" : "hour";
  const loading = useLoading((signal) => call(project ? `${pathOf(project)}/usage` : "usage", { query: { step }, signal }), [project, step]);
  const [rates, setRates] = useState(/** @type {any} */ (null));
  const isLive = useLive(project, "usage", project !== "", setRates);
  const found = loading.data;
  return html`<main class="main"><${Bar} title="Usage"><${Choice} label="Span" value=${step} choices=${STEPS} choose=${(/** @type {string} */ chosen) => go(link(project ? ["projects", project, "usage"] : ["usage"], { step: chosen === "day" ? "day" : "" }))} /><//>
    <div class="page"><div class="page-inner"><${Loaded} loading=${loading}>${found && html`<div class="stack">
      ${project && html`<${Now} rates=${isLive ? rates : null} />`}<${Sums} steps=${found.steps} />
      <div class="charts"><${Drawing} title="Requests" kind="bar" steps=${found.steps} step=${step} columns=${{ requests: "all", errors_4xx: "4xx", errors_5xx: "5xx" }} />
        <${Drawing} title="Milliseconds" kind="line" steps=${found.steps} step=${step} columns=${{ p50_ms: "half of them", p95_ms: "95 of 100" }} /></div>
      ${project ? html`<div class="charts"><${Limits} limits=${found.limits} /><${Sizes} sizes=${found.sizes} /></div>` : html`<${Busiest} projects=${found.projects} step=${step} />`}
      <${Table} steps=${found.steps} step=${step} /></div>`}<//></div></div></main>`;
}

/** @param {{ rates: any }} given */
function Now({ rates }) {
  return html`<p class="row soft" role="status">${rates ? html`<span class="dot dot-live good" /><span>Now ${number(rates.requests_per_s)} requests a second, ${number(rates.errors_per_s)} errors a second, 95 of 100 within ${rates.p95_ms === null ? "–" : number(rates.p95_ms)} ms, ${number(rates.sockets)} sockets.</span>`
    : html`<span class="dot" /><span>Rates come a moment after the page.</span>`}</p>`;
}

/** @param {any[]} steps @param {string} name @returns {number} */
const sum = (steps, name) => steps.reduce((total, step) => total + step[name], 0);

/** @param {{ steps: any[] }} given */
function Sums({ steps }) {
  const requests = sum(steps, "requests");
  const errors = sum(steps, "errors_4xx") + sum(steps, "errors_5xx");
  const slowest = Math.max(0, ...steps.map(({ p95_ms }) => p95_ms ?? 0));
  return html`<dl class="figures">${[["Requests", number(requests), ""], ["Errors", number(errors), requests ? `${number(Math.round((errors / requests) * 1000) / 10)} % of them` : ""],
    ["Slowest step", slowest ? `${number(slowest)} ms` : "–", "95 of 100 were as quick"], ["Sent", bytes(sum(steps, "bytes")), ""]].map(([name, value, note]) => html`
    <div class="figure" key=${name}><dt class="figure-name">${name}</dt><dd class="figure-value cut">${value}</dd>${note && html`<dd class="figure-note">${note}</dd>`}</div>`)}</dl>`;
}

/** @param {{ title: string, kind: string, steps: any[], step: string, columns: Record<string, string> }} given */
function Drawing({ title, kind, steps, step, columns }) {
  const drawing = { labels: steps.map(({ at }) => shortTime(at, step)), series: Object.entries(columns).map(([key, name]) => ({ name, values: steps.map((each) => each[key]) })) };
  return html`<section class="card" aria-label=${title}><div class="card-head"><h2>${title}</h2></div><div class="card-body"><${Chart} drawing=${drawing} kind=${kind} name=${title} height=${200} /></div></section>`;
}

const HOUR = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });

/** @param {string} at @param {string} step @returns {string} Days are those of UTC. */
const shortTime = (at, step) => (step === "day" ? DATE : HOUR).format(new Date(at));

/** @param {{ limits: any[] }} given */
function Limits({ limits }) {
  return html`<section class="card" aria-labelledby="limits"><div class="card-head"><h2 id="limits">Limits of the day</h2></div><div class="card-body">
    ${limits.length === 0 && html`<p class="soft">There is no limit.</p>`}
    ${limits.map(({ name, limit, remaining, reset }) => html`<div class="limit" key=${name}><span>${name}</span><span class="soft">${number(limit - remaining)} of ${number(limit)}</span>
      <progress class=${`meter ${remaining < limit / 10 ? "meter-warn" : ""}`} max=${limit} value=${limit - remaining} aria-label=${name} /><span class="faint small">begins again in ${number(Math.ceil(reset / 3600))} h</span></div>`)}</div></section>`;
}

/** @param {{ sizes: any }} given */
function Sizes({ sizes }) {
  return html`<section class="card" aria-labelledby="sizes"><div class="card-head"><h2 id="sizes">Sizes</h2></div><div class="card-body">${sizes ? html`<dl class="facts"><dt>Users</dt><dd>${number(sizes.users)}</dd>
    <dt>Documents</dt><dd>${number(sizes.documents)}</dd><dt>Files</dt><dd>${number(sizes.files)}</dd><dt>Storage</dt><dd>${bytes(sizes.storage_bytes)}</dd><dt>As of</dt><dd><${Time} at=${sizes.as_of} /></dd></dl>`
    : html`<p class="soft">They are measured within minutes of a request.</p>`}</div></section>`;
}

/** @param {{ projects: any[], step: string }} given */
function Busiest({ projects, step }) {
  return html`<section class="card card-list" aria-labelledby="busiest"><div class="card-head"><h2 id="busiest">Busiest projects</h2><span class="push faint small">${STEPS[/** @type {keyof typeof STEPS} */ (step)]}</span></div>
    ${projects.length === 0 && html`<p class="listing soft">No project had a request.</p>`}
    ${projects.length > 0 && html`<div class="table-box" tabindex="0" role="region" aria-label="List of projects"><table class="table table-rows"><thead><tr><th>Project</th><th class="number">Requests</th><th class="number">4xx</th><th class="number">5xx</th><th class="number">Sent</th></tr></thead>
      <tbody>${projects.map((each) => html`<tr key=${each.id}><td class="fill"><a href=${link(["projects", each.id, "usage"], { step: step === "day" ? "day" : "" })}>${each.id}</a></td><td class="number">${number(each.requests)}</td>
        <td class="number">${number(each.errors_4xx)}</td><td class=${`number ${each.errors_5xx ? "bad" : ""}`}>${number(each.errors_5xx)}</td><td class="number">${bytes(each.bytes)}</td></tr>`)}</tbody></table></div>`}</section>`;
}

/** @param {{ steps: any[], step: string }} given */
function Table({ steps, step }) {
  const cell = (/** @type {number | null} */ value) => (value === null ? html`<span class="none">–</span>` : number(value));
  return html`<section class="card" aria-label="Steps"><div class="table-box" tabindex="0" role="region" aria-label="Table of steps"><table class="table"><thead><tr><th>${step === "day" ? "Day" : "Hour"}</th><th class="number">Requests</th><th class="number">4xx</th><th class="number">5xx</th><th class="number">Half, ms</th><th class="number">95 of 100, ms</th><th class="number">Sent</th></tr></thead>
    <tbody>${steps.toReversed().filter(({ requests }) => requests).map((each) => html`<tr key=${each.at}><td><time datetime=${each.at} title=${each.at}>${step === "day" ? label(each.at, { every: "day" }) : `${DATE.format(new Date(each.at))}, ${HOUR.format(new Date(each.at))}`}</time></td>
      <td class="number">${number(each.requests)}</td><td class="number">${number(each.errors_4xx)}</td><td class="number">${number(each.errors_5xx)}</td><td class="number">${cell(each.p50_ms)}</td><td class="number">${cell(each.p95_ms)}</td><td class="number">${bytes(each.bytes)}</td></tr>`)}</tbody></table></div></section>`;
}
