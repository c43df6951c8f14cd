/** The parts of a project's overview: its day, its newest errors, pinned charts, and what is not set up yet. */
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { link } from "../app/router.js";
import { allows, me } from "../app/session.js";
import { bytes, Moment, number } from "../app/texts.js";
import { readForm, readForms } from "./chart-forms.js";
import { Icon } from "./icon.js";
import { SavedChart } from "./saved-chart.js";
import { Loaded } from "./states.js";

/** @param {{ project: string }} given */
export function Day({ project }) {
  const loading = useLoading((signal) => call(`${pathOf(project)}/usage`, { signal }), [project]);
  const { steps = [], sizes } = loading.data ?? {};
  const sum = (/** @type {string} */ name) => steps.reduce((/** @type {number} */ total, /** @type {any} */ step) => total + step[name], 0);
  const slowest = Math.max(0, ...steps.map((/** @type {any} */ step) => step.p95_ms ?? 0));
  const figures = [["Requests, 24 h", number(sum("requests"))], ["Errors, 24 h", number(sum("errors_4xx") + sum("errors_5xx"))], ["Slowest hour", slowest ? `${number(slowest)} ms` : "–"], ["Size", sizes ? bytes(sizes.storage_bytes) : "–"]];
  return html`<${Loaded} loading=${loading}><dl class="figures">${figures.map(([name, value]) => html`<div class="figure" key=${name}><dt class="figure-name">${name}</dt><dd class="figure-value cut">${value}</dd></div>`)}</dl><//>`;
}

/** @param {{ project: string }} given */
export function Errors({ project }) {
  const loading = useLoading((signal) => Promise.all(["5xx", "4xx"].map((status) => call(`${pathOf(project)}/requests`, { query: { status, limit: 5 }, signal }))), [project]);
  const rows = (loading.data ?? []).flatMap((page) => page.requests).toSorted((one, other) => (one.at < other.at ? 1 : -1)).slice(0, 5);
  return html`<section class="card card-list" aria-labelledby="errors"><div class="card-head"><h2 id="errors">Newest errors</h2><span class="push" /><a class="small" href=${link(["projects", project, "logs"])}>All requests</a></div>
    <${Loaded} loading=${loading}>${rows.length === 0 && html`<p class="listing soft">None.</p>`}
      ${rows.map((row) => html`<div class="listing" key=${row.id}><span class="status bad">${row.status}</span><a class="cut mono" href=${link(["projects", project, "logs"], { status: String(row.status), entry: row.id })}>${row.method} ${row.route}</a><span class="push faint"><${Moment} at=${row.at} /></span></div>`)}<//></section>`;
}

/** @param {{ project: string }} given */
export function Pins({ project }) {
  const loading = useLoading(async (signal) => {
    const [{ aggregations }, forms] = await Promise.all([call(`${pathOf(project)}/api/aggregations`, { signal }), readForms(project, signal)]);
    return aggregations.map((/** @type {any} */ saved) => ({ saved, form: readForm(forms.get(saved.name)) })).filter((/** @type {any} */ { form }) => form.isPinned);
  }, [project]);
  return html`<${Loaded} loading=${loading}>${loading.data && loading.data.length > 0 && html`<div class="charts">${loading.data.map((/** @type {any} */ { saved, form }) => html`<${SavedChart} key=${saved.name} project=${project} saved=${saved} form=${form} />`)}</div>`}<//>`;
}

/** What a new project lacks, as a list that empties. @param {{ project: string, collections: any[] }} given */
export function Todo({ project, collections }) {
  const hasConfig = allows(project, "config");
  const loading = useLoading(async (signal) => {
    const [rules, settings, providers, backups] = await Promise.all([
      allows(project, "schema") ? call(`${pathOf(project)}/api/rules`, { signal }) : null,
      hasConfig ? call(`${pathOf(project)}/settings`, { signal }) : null, hasConfig ? call(`${pathOf(project)}/providers`, { signal }) : null,
      hasConfig ? call(`${pathOf(project)}/backups`, { query: { limit: 1 }, signal }) : null]);
    const first = collections[0]?.name;
    return [
      !first && ["Collections", "A collection holds documents: import a file, or declare its fields.", ["data"]],
      first && rules && !Object.keys(rules.collections ?? {}).length && ["Rules", "Without rules only the secret key reads and writes.", ["data", first, "rules"]],
      settings && !settings.secrets.includes("SMTP_URL") && !me.value?.deployment.has_smtp && ["Mail", "Without a mail server mails are kept, and not sent.", ["mail", "server"]],
      providers && !providers.providers.length && ["Providers", "Users can sign in by an account that they have elsewhere.", ["sign-in"]],
      backups && !backups.backups.length && ["Backup", "A backup can be restored under another id, or after the project is deleted.", ["backups"]],
    ].filter(Boolean);
  }, [project, collections.length]);
  if (!loading.data?.length) return null;
  return html`<section class="card card-list" aria-labelledby="todo"><div class="card-head"><h2 id="todo">Not set up yet</h2></div>${loading.data.map((/** @type {any} */ [title, text, path]) => html`
    <a class="todo" key=${title} href=${link(["projects", project, ...path])}><${Icon} name="circle" /><span><b>${title}</b><br /><span class="soft">${text}</span></span><${Icon} name="chevron-right" tone="push" /></a>`)}</section>`;
}
