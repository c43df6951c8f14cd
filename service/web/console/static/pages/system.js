/** The state of the deployment: what is wrong and how to mend it, the jobs, and the versions. */
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { Bar } from "../app/shell.js";
import { number, Time } from "../app/texts.js";
import { Icon } from "../parts/icon.js";
import { Loaded } from "../parts/states.js";

export default function System() {
  const loading = useLoading((signal) => call("system", { signal }), []);
  const found = loading.data;
  const wrong = found?.checks.filter((/** @type {any} */ check) => check.ok === false).length;
  return html`<main class="main"><${Bar} title="System"><button class="button" onClick=${loading.reload}><${Icon} name="refresh-cw" />Check again</button><//>
    <div class="page"><div class="page-inner"><${Loaded} loading=${loading}>${found && html`<div class="stack">
      <dl class="figures">${[["Version", found.version], ["Workers", number(found.workers)], ["MongoDB", found.mongodb.version, found.mongodb.topology], ["Leader", found.leader ? "there" : "none"]].map(([name, value, note]) => html`
        <div class="figure" key=${name}><dt class="figure-name">${name}</dt><dd class="figure-value cut">${value}</dd>${note && html`<dd class="figure-note">${note}</dd>`}</div>`)}</dl>
      <section class="card card-list" aria-labelledby="checks"><div class="card-head"><h2 id="checks">Checks</h2><span class="push" /><span class=${`badge ${wrong ? "badge-bad" : "badge-good"}`}>${wrong ? `${wrong} to mend` : "all good"}</span></div>
        ${found.checks.map((/** @type {any} */ check, /** @type {number} */ index) => html`<${Check} key=${index} check=${check} />`)}</section>
      <section class="card" aria-labelledby="jobs"><div class="card-head"><h2 id="jobs">Jobs of this worker</h2></div>
        <div class="table-box" tabindex="0" role="region" aria-label="List of jobs"><table class="table"><thead><tr><th>Job</th><th class="number">Runs</th><th class="number">Failures</th><th>Last success</th></tr></thead>
          <tbody>${found.jobs.map((/** @type {any} */ job) => html`<tr key=${job.name}><td>${job.name}</td><td class="number">${number(job.runs)}</td><td class=${`number ${job.failures ? "bad" : ""}`}>${number(job.failures)}</td><td><${Time} at=${job.last_success_at} /></td></tr>`)}</tbody></table></div></section>
    </div>`}<//></div></div></main>`;
}

/** @param {{ check: { name: string, ok: boolean | null, detail: string, mend: string | null } }} given */
function Check({ check }) {
  const [icon, tone, word] = check.ok === null ? ["circle-help", "warn", "not decided"] : check.ok ? ["circle-check", "good", "good"] : ["circle-x", "bad", "wrong"];
  return html`<div class="listing"><${Icon} name=${icon} tone=${tone} /><div class="listing-text"><span dir="auto"><span class="unseen">${word}: </span>${check.detail}</span>${check.ok !== true && check.mend && html`<p dir="auto">${check.mend}</p>`}</div></div>`;
}
