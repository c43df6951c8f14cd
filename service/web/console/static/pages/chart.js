/** The builder of an aggregation: the steps at the left, the chart and its rows at the right. Its state is in the address. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { announce } from "../app/announcements.js";
import { lastOpened, pathOf, readCollections } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { go, link, place, replace } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { Builder, Pick } from "../parts/builder.js";
import { keepForm, readForm, readForms } from "../parts/chart-forms.js";
import { KINDS } from "../parts/chart.js";
import { Dialog, Question } from "../parts/dialog.js";
import { Editor, parseJson, writeJson } from "../parts/editor.js";
import { Alert, DialogFoot, Field, Select, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Result, useRows } from "../parts/rows.js";
import { suggestKind } from "../parts/saved-chart.js";
import { Empty, Loaded } from "../parts/states.js";

/** @typedef {import("../parts/builder.js").Draft} Draft */

/** @param {{ project: string, parts: Record<string, string> }} given */
export default function ChartPage({ project, parts }) {
  const name = parts.chart === "new" ? "" : (parts.chart ?? "");
  const loading = useLoading(async (signal) => {
    const [collections, { aggregations }, forms] = await Promise.all([readCollections(project), call(`${pathOf(project)}/api/aggregations`, { signal }), readForms(project, signal)]);
    return { name, collections, names: aggregations.map((/** @type {any} */ each) => each.name), saved: aggregations.find((/** @type {any} */ each) => each.name === name) ?? null, view: forms.get(name) };
  }, [project, name]);
  const found = loading.data?.name === name ? loading.data : undefined;
  return html`<main class="main">${found && (found.saved || !name) ? html`<${Open} key=${name} project=${project} collections=${found.collections} names=${found.names} saved=${found.saved} view=${found.view} reload=${loading.reload} />`
    : html`<${Bar} title=${name || "New chart"} /><div class="page"><${Loaded} loading=${{ ...loading, data: found }}><${Empty} icon="circle-help" title="There is no such chart"><a class="button" href=${link(["projects", project, "charts"])}>All charts</a><//><//></div>`}</main>`;
}

/** The draft of the address. @param {string} text @returns {any} */
function readState(text) {
  const { value } = parseJson(text);
  return value && typeof value === "object" && typeof value.source === "string" && value.aggregate && typeof value.aggregate === "object" ? value : null;
}

/** @param {{ project: string, collections: any[], names: string[], saved: any, view: import("../parts/chart-forms.js").View | undefined, reload: () => void }} given */
function Open({ project, collections, names, saved, view, reload }) {
  const kept = readForm(view);
  const sources = [...collections.map(({ name }) => name), ...(allows(project, "users") ? ["users"] : [])];
  const source = lastOpened.project === project && sources.includes(lastOpened.name) ? lastOpened.name : (sources[0] ?? "");
  /** @type {Draft} */
  const first = saved ? { source: saved.collection, aggregate: saved.aggregate, parameters: saved.parameters, samples: kept.samples }
    : { source, aggregate: { values: { count: "count" } }, parameters: {}, samples: {} };
  const { query } = place.value;
  const [draft, setDraft] = useState(/** @type {Draft} */ ({ ...first, ...readState(query.get("draft") ?? "") }));
  const [dialog, open] = useState("");
  const here = ["projects", project, "charts", saved?.name ?? "new"];
  const kind = query.get("chart") || kept.chart || suggestKind(draft.aggregate);
  const change = (/** @type {Partial<Draft>} */ part) => {
    const after = { ...draft, ...part };
    setDraft(after);
    replace(link(here, { draft: JSON.stringify(after), chart: query.get("chart") ?? "" }));
  };
  const loading = useRows(project, draft);
  const { act, notice } = useAction(() => go(link(["projects", project, "charts"])));
  const remove = async () => {
    await call(`${pathOf(project)}/api/aggregations/${saved.name}`, { method: "DELETE" });
    if (view?.own) await call(`${pathOf(project)}/views/${view.id}`, { method: "DELETE" });
  };
  const pinning = useAction(reload);
  const pin = () => pinning.act(() => keepForm(project, saved.name, view, { chart: kind, samples: draft.samples, isPinned: !kept.isPinned }));
  const mayWrite = allows(project, "schema", "write");
  const close = () => open("");
  const rows = loading.data?.rows.length ?? 0;
  return html`<${Bar} title=${saved?.name ?? "New chart"}>
      <button class="button button-quiet wide" onClick=${() => open("json")}><${Icon} name="braces" />JSON</button>
      ${saved && html`<button class="button" aria-label=${kept.isPinned ? "Take it off the overview" : "Pin to overview"} onClick=${pin}><${Icon} name=${kept.isPinned ? "pin-off" : "pin"} /><span class="wide">${kept.isPinned ? "Pinned" : "Pin to overview"}</span></button>`}
      ${saved && mayWrite && html`<button class="button button-quiet is-danger" onClick=${() => open("delete")}>Delete</button>`}
      ${mayWrite && html`<button class="button button-primary" onClick=${() => open("save")}>Save</button>`}<//>${notice}${pinning.notice}
    <div class="split"><${Builder} key=${dialog === "json" ? "json" : "form"} draft=${draft} change=${change} collections=${collections} sources=${sources} />
      <div class="scroll"><div class="bar toolbar"><span><${Pick} label="Chart" value=${kind} values=${KINDS} choose=${(/** @type {string} */ chart) => replace(link(here, { draft: query.get("draft") ?? "", chart }))} /></span>
        <span class="push small faint" role="status">${number(rows)} ${rows === 1 ? "row" : "rows"}</span></div>
        <${Result} loading=${loading} draft=${draft} kind=${kind} name=${saved?.name ?? "The chart"} /></div></div>
    ${dialog === "json" && html`<${AsJson} draft=${draft} change=${change} close=${close} />`}
    ${dialog === "save" && html`<${SaveAs} project=${project} draft=${draft} names=${names} saved=${saved} close=${close} done=${reload}
      keep=${(/** @type {string} */ name) => keepForm(project, name, name === saved?.name ? view : undefined, { chart: kind, samples: draft.samples, isPinned: name === saved?.name && kept.isPinned })} />`}
    ${dialog === "delete" && html`<${Question} title=${`Delete ${saved.name}`} action="Delete" close=${close} act=${() => act(remove)}>
      <p>Apps that run it by its name get 404.</p><//>`}`;
}

/** The whole language, which the steps show in part. @param {{ draft: Draft, change: (part: Partial<Draft>) => void, close: () => void }} given */
function AsJson({ draft, change, close }) {
  const [text, setText] = useState(writeJson(draft.aggregate));
  const { value, mistake } = parseJson(text);
  const isGood = !mistake && value && typeof value === "object" && !Array.isArray(value);
  const take = () => { change({ aggregate: value }); close(); };
  return html`<${Dialog} title="The aggregation as JSON" close=${close}><div class="dialog-body"><${Editor} label="Aggregation" value=${text} mistake=${mistake} rows=${8} change=${setText} /></div>
    <div class="dialog-foot"><button class="button" onClick=${close}>Cancel</button><button class="button button-primary" disabled=${!isGood} onClick=${take}>Take it</button></div><//>`;
}

/** @param {Draft} draft @param {string[]} taken @returns {string} `books_by_year`, or the next name that is free. */
export function proposeName({ source, aggregate }, taken) {
  const words = [source, ...Object.keys(aggregate.group ?? {}).slice(0, 1)].join(" by ").toLowerCase();
  const base = words.replace(/[^a-z0-9]+/g, "_").slice(0, 50);
  const free = [base, ...taken.map((_, at) => `${base}_${at + 2}`)].find((name) => !taken.includes(name));
  return free ?? base;
}

/** @param {{ project: string, draft: Draft, names: string[], saved: any, close: () => void, done: () => void, keep: (name: string) => Promise<unknown> }} given */
function SaveAs({ project, draft, names, saved, close, done, keep }) {
  const run = typeof saved?.run === "object" ? "custom" : (saved?.run ?? "");
  const form = useForm({ name: saved?.name ?? proposeName(draft, names), run, aggregate: "", parameters: "", collection: "" }, async ({ name, run: chosen }) => {
    const allowed = chosen === "custom" ? saved.run : chosen;
    const body = { collection: draft.source, aggregate: draft.aggregate, parameters: draft.parameters, ...(allowed ? { run: allowed } : {}) };
    await call(`${pathOf(project)}/api/aggregations/${encodeURIComponent(name ?? "")}`, { method: "PUT", body });
    await keep(name ?? "");
    announce(`${name} is saved.`);
    close();
    done();
    go(link(["projects", project, "charts", name ?? ""]));
  });
  const choices = { "": "Nobody but the secret key", anyone: "Anyone", users: "Users", ...(run === "custom" ? { custom: "By the rule that it has" } : {}) };
  return html`<${Dialog} title="Save the chart" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
      ${["aggregate", "parameters", "collection"].map((part) => form.faults[part] && html`<p key=${part} class="form-alert" role="alert">${part}: ${form.faults[part]}</p>`)}
      <${Field} form=${form} name="name" label="Name" hint="Lower-case letters, digits and underscores. Apps run it by this name." autofocus />
      <${Select} form=${form} name="run" label="Who may run it" choices=${choices} /></div><${DialogFoot} form=${form} action="Save" close=${close} /></form><//>`;
}
