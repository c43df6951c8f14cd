/** The rules of a collection: who may do what, what saving would say, and a tester beside it. */
import { useEffect, useState } from "preact/hooks";
import { announce } from "../app/announcements.js";
import { call, exchange } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { CollectionTabs } from "../grid/toolbar.js";
import { Icon } from "../parts/icon.js";
import { OfCollection } from "../parts/pair.js";
import { Panel } from "../parts/panel.js";
import { JsonRule, RuleRow } from "../parts/rule-rows.js";
import { Tester } from "../parts/rule-tester.js";
import { Loaded } from "../parts/states.js";
import { Choice } from "../parts/tabs.js";

/** @typedef {import("../app/collections.js").Collection} Collection */
const ACTIONS = /** @type {const} */ (["read", "create", "update", "delete"]);
const PAUSE_MS = 500;

/** @param {{ project: string, parts: { collection?: string } }} given */
export default function Rules({ project, parts }) {
  const name = parts.collection ?? "";
  return html`<${OfCollection} project=${project} name=${name} current="rules" show=${(/** @type {Collection} */ collection) => html`<${Stored} key=${name} project=${project} collection=${collection} />`} />`;
}

/** @param {{ project: string, collection: Collection }} given */
function Stored({ project, collection }) {
  const loading = useLoading((signal) => exchange(`${pathOf(project)}/api/rules`, { signal }), [project]);
  const tabs = html`<${CollectionTabs} project=${project} collection=${collection.name} current="rules" />`;
  if (!loading.data) return html`<main class="main"><${Bar} title=${collection.name} tabs=${tabs} /><div class="page"><${Loaded} loading=${loading} /></div></main>`;
  return html`<${Edited} key=${loading.data.etag} project=${project} collection=${collection} stored=${loading.data} tabs=${tabs} reload=${loading.reload} />`;
}

/** @param {any} rules @param {string} name @param {Record<string, unknown>} own @returns {any} The rules with those of one collection changed. */
function withOwn(rules, name, own) {
  const kept = Object.fromEntries(Object.entries(own).filter(([, rule]) => rule !== undefined));
  const collections = Object.entries({ ...rules.collections, [name]: kept }).filter(([each]) => each !== name || Object.keys(kept).length > 0);
  return { ...rules, collections: Object.fromEntries(collections) };
}

/** @param {{ project: string, collection: Collection, stored: import("../app/api.js").Answer, tabs: unknown, reload: () => void }} given */
function Edited({ project, collection, stored, tabs, reload }) {
  const { name, schema } = collection;
  const [rules, setRules] = useState(stored.body);
  const [form, setForm] = useState("form");
  const [turn, again] = useState(0);
  const [answer, setAnswer] = useState(/** @type {{ body: any, error: import("../app/api.js").ApiError | null } | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const mayWrite = allows(project, "schema", "write");
  const own = rules.collections?.[name] ?? {};
  const owners = Object.entries(schema).filter(([, { type, collection: of }]) => type === "reference" && of === "users").map(([field]) => field);
  const isChanged = JSON.stringify(rules) !== JSON.stringify(stored.body);
  const set = (/** @type {string} */ key, /** @type {unknown} */ rule) => setRules(withOwn(rules, name, { ...own, [key]: rule }));
  const put = (/** @type {Record<string, string>} */ query) => call(`${pathOf(project)}/api/rules`, { method: "PUT", body: rules, query, isRead: "dry_run" in query, headers: { "if-match": stored.etag } });
  useEffect(() => {
    setAnswer(null);
    const timer = setTimeout(() => mayWrite && put({ dry_run: "true" }).then((body) => setAnswer({ body, error: null }), (error) => setAnswer({ body: null, error })), isChanged ? PAUSE_MS : 0);
    return () => clearTimeout(timer);
  }, [JSON.stringify(rules)]);
  const save = async (/** @type {Record<string, string>} */ query) => {
    setBusy(true);
    try {
      await put(query);
      announce("Saved");
      reload();
    } catch (/** @type {any} */ error) {
      setAnswer({ body: null, error });
    }
    setBusy(false);
  };
  const revert = () => { setRules(stored.body); again(turn + 1); };
  const faults = answer?.error?.faults ?? [];
  const faultsOf = (/** @type {string} */ key) => faults.filter(({ loc }) => loc[1] === "collections" && loc[2] === name && loc[3] === key);
  const rest = faults.filter(({ loc }) => !(form === "form" && loc[1] === "collections" && loc[2] === name && [...ACTIONS, "fields"].includes(String(loc[3]))));
  const advice = (answer?.body?.advice ?? []).filter((/** @type {any} */ each) => each.collection === name);
  const tests = (rules.tests ?? []).filter((/** @type {any} */ each) => each.collection === name);
  const failed = (answer?.error?.body?.failed ?? []).map((/** @type {any} */ each) => each.name);
  const state = failed.length ? `${failed.length} ${failed.length === 1 ? "test fails" : "tests fail"}` : answer?.error ? answer.error.message : "";
  return html`<main class="main"><${Bar} title=${name} tabs=${tabs}><${Choice} label="Form" value=${form} choices=${{ form: "Collection", json: "All as JSON" }} choose=${setForm} /><//>
    <div class="split"><div class="scroll"><div class="rules">
        ${form === "json" && html`<${JsonRule} key=${`all ${turn}`} label="All rules as JSON" value=${rules} mayWrite=${mayWrite} change=${(/** @type {any} */ value) => value && setRules(value)} rows=${20} />`}
        ${form === "form" && ACTIONS.map((action) => html`<${RuleRow} key=${`${action} ${turn}`} action=${action} rule=${own[action]} owners=${owners} faults=${faultsOf(action)} mayWrite=${mayWrite} change=${(/** @type {unknown} */ rule) => set(action, rule)} />`)}
        ${form === "form" && html`<div class="rule"><div class="rule-name"><${Icon} name="columns-3" />Fields</div><div class="rule-body"><${JsonRule} key=${turn} label="Rules of fields" value=${own.fields} mayWrite=${mayWrite} change=${(/** @type {unknown} */ value) => set("fields", value)} rows=${2} />
          <span class="field-hint">Such as <code>{"owner_id": {"set": "$user.id", "write": "create"}}</code>. Without an entry a field is as its document.</span>
          ${faultsOf("fields").map(({ loc, msg }) => html`<p class="field-error" role="alert" key=${loc.join()}><code>${loc.slice(4).join(".")}</code> ${msg}</p>`)}</div></div>`}
        ${rest.map(({ loc, msg }) => html`<p class="field-error" role="alert" key=${loc.join()}><code>${loc.slice(1).join(".")}</code> ${msg}</p>`)}
        ${(answer?.body?.warnings ?? []).map((/** @type {any} */ each, /** @type {number} */ at) => html`<div class="rule" key=${at}><div class="rule-name"><${Icon} name="triangle-alert" />Warning</div><div class="rule-body" dir="auto">${each.msg ?? each.message ?? JSON.stringify(each)}</div></div>`)}
        ${advice.map((/** @type {any} */ each) => html`<div class="rule" key=${each.index.join()}><div class="rule-name"><${Icon} name="lightbulb" />Advice</div><div class="rule-body"><div class="rule-line"><span>An index of <code>${each.index.join(", ")}</code>: ${each.because}.</span>
          ${mayWrite && html`<button class="button button-small push" disabled=${isBusy} onClick=${() => save({ indexes: "true" })}>${isChanged ? "Save and build this index" : "Build this index"}</button>`}</div></div></div>`)}
        <div class="rule"><div class="rule-name"><${Icon} name="flask-conical" />Tests</div><div class="rule-body">${tests.length === 0 && html`<span class="soft">None. The tester makes one.</span>`}
          ${tests.map((/** @type {any} */ each) => html`<div class="row" key=${each.name}><${Icon} name=${failed.includes(each.name) ? "x" : "check"} small tone=${failed.includes(each.name) ? "bad" : "good"} /><span dir="auto">${each.name}</span><span class="faint">${each.expect}</span>
            ${mayWrite && html`<button class="button button-quiet button-icon button-small push" aria-label=${`Remove ${each.name}`} onClick=${() => setRules({ ...rules, tests: rules.tests.filter((/** @type {any} */ other) => other !== each) })}><${Icon} name="x" small /></button>`}</div>`)}</div></div>
      </div></div>
      <${Panel} title="Try it" size="narrow"><${Tester} project=${project} collection=${name} isChanged=${isChanged} keep=${mayWrite ? (/** @type {object} */ test) => setRules({ ...rules, tests: [...(rules.tests ?? []), test] }) : null} /><//></div>
    ${mayWrite && isChanged && html`<footer class="save-bar"><b>Changed</b><span class="soft wide">Others follow within five seconds.</span><span class="push" />
      ${state && html`<span class="row bad cut" role="alert"><${Icon} name="circle-x" />${state}</span>`}
      ${answer?.error?.status === 412 ? html`<button class="button" onClick=${reload}>Load what others saved</button>` : html`<button class="button" onClick=${revert}>Revert</button>`}
      <button class="button button-primary" disabled=${isBusy || !answer?.body} onClick=${() => save({})}>Save</button></footer>`}
  </main>`;
}
