/** The tester: who does what to which record, whether the saved rules allow it, and the condition that decided. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf, pathOfCollection } from "../app/collections.js";
import { html } from "../app/html.js";
import { shortText } from "../grid/columns.js";
import { Dialog } from "./dialog.js";
import { Editor, parseJson } from "./editor.js";
import { Alert, DialogFoot, Field, useForm } from "./form.js";
import { Icon } from "./icon.js";
import { Relation } from "./relation.js";
import { Choice } from "./tabs.js";

/** @typedef {{ at: (string | number)[], wanted: unknown, found: unknown, holds: boolean }} Reason */
const ACTIONS = { read: "Read", create: "Create", update: "Update", delete: "Delete" };

/** @param {{ project: string, collection: string, isChanged: boolean, keep: ((test: object) => void) | null }} given `keep` stores a test with the rules. */
export function Tester({ project, collection, isChanged, keep }) {
  const [who, setWho] = useState("guest");
  const [user, setUser] = useState("");
  const [roles, setRoles] = useState("");
  const [action, setAction] = useState("read");
  const [record, setRecord] = useState("");
  const [text, setText] = useState("{}");
  const [isNaming, naming] = useState(false);
  const [result, setResult] = useState(/** @type {any} */ (null));
  const parsed = parseJson(text);
  const hasBody = action === "create" || action === "update";
  const as = () => (who === "guest" ? /** @type {const} */ ("anyone") : { ...(who === "user" && user ? { user_id: user } : {}), ...(roles.trim() ? { roles: roles.split(",").map((each) => each.trim()) } : {}) });
  const form = useForm({}, async () => {
    setResult(null);
    const body = { as: as(), action: /** @type {"read"} */ (action), collection, ...(record && action !== "create" ? { id: record } : {}), ...(hasBody ? { data: parsed.value } : {}) };
    setResult(await call(`${pathOf(project)}/api/rules/explain`, { method: "POST", body, isRead: true }).catch((error) => {
      // The rules do not name the collection: for users and guests it is not there.
      if (error.code === "collection_not_found") return { allowed: false, because: [], sets: {} };
      throw error;
    }));
  });
  const picked = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.currentTarget).value;
  const change = (/** @type {() => void} */ set) => { set(); setResult(null); };
  return html`<form class="panel-body tester" onSubmit=${form.submit}>
    ${isChanged && html`<p class="field-hint row-top"><${Icon} name="triangle-alert" small /><span>The test asks the rules that are saved.</span></p>`}<${Alert} form=${form} />
    <label class="field"><span class="field-label">As</span><select class="input" aria-label="As whom" onChange=${(/** @type {Event} */ event) => change(() => setWho(picked(event)))}>
      ${[["guest", "Guest"], ["user", "A user"], ["roles", "Somebody with roles"]].map(([each, word]) => html`<option key=${each} value=${each} selected=${each === who}>${word}</option>`)}</select></label>
    ${who === "user" && html`<div class="field"><label class="field-label" for="tester-user">User</label><${Relation} id="tester-user" name="User" project=${project} collection="users" value=${user} readonly=${false} isBad=${false} change=${(/** @type {string} */ id) => change(() => setUser(id))} /></div>`}
    ${who !== "guest" && html`<label class="field"><span class="field-label">Roles</span><input class="input" value=${roles} placeholder=${who === "user" ? "those of the user" : "editor, admin"} onInput=${(/** @type {Event} */ event) => change(() => setRoles(picked(event)))} /></label>`}
    <div class="field"><span class="field-label">Action</span><div class="field-body"><${Choice} label="Action" value=${action} choices=${ACTIONS} choose=${(/** @type {string} */ each) => change(() => setAction(each))} /></div></div>
    ${action !== "create" && html`<div class="field"><label class="field-label" for="tester-record">Record</label><div><${Relation} id="tester-record" name="Record" project=${project} collection=${collection} value=${record} readonly=${false} isBad=${false} change=${(/** @type {string} */ id) => change(() => setRecord(id))} />
      ${action === "read" && html`<span class="field-hint">None asks for the whole list.</span>`}</div></div>`}
    ${hasBody && html`<${Editor} label="Data that is sent" value=${text} change=${setText} mistake=${parsed.mistake} rows=${3} />`}
    <div class="row"><button class="button button-primary" aria-disabled=${form.isBusy} disabled=${hasBody && parsed.mistake}>Test</button><span class="push" />
      ${result && keep && html`<button class="button button-quiet" type="button" onClick=${() => naming(true)}><${Icon} name="bookmark-plus" />Save as test</button>`}</div>
    ${result && html`<${Outcome} result=${result} />`}
    ${isNaming && keep && html`<${Naming} project=${project} collection=${collection} result=${result} test=${{ as: who === "guest" ? "anyone" : { ...(user ? { id: user } : {}), ...(roles.trim() ? { roles: roles.split(",").map((each) => each.trim()) } : {}) }, action, ...(hasBody ? { data: parsed.value } : {}) }}
      record=${action === "create" ? "" : record} keep=${keep} close=${() => naming(false)} />`}
  </form>`;
}

/** @param {{ result: { allowed: boolean, because: Reason[], plan?: any, sets: Record<string, any> } }} given */
function Outcome({ result }) {
  const { allowed, because, plan } = result;
  const deciding = because.findLast(({ holds }) => holds === allowed);
  return html`<div role="status" class="stack-small"><p class=${`result ${allowed ? "result-good" : "result-bad"}`}><${Icon} name=${allowed ? "shield-check" : "shield-x"} /><b>${allowed ? "Allowed" : "Not allowed"}</b></p>
    ${because.map((each) => html`<div key=${each.at.join()} class=${`because ${!allowed && each === deciding ? "is-deciding" : ""}`}><${Icon} name=${each.holds ? "check" : "x"} small tone=${each.holds ? "good" : "bad"} />
      <div><code>${each.at.join(" ")}</code><p dir="auto">wanted ${shortText(each.wanted) || "a value that is not known"}, found ${shortText(each.found) || "nothing"}</p></div></div>`)}
    ${!because.length && html`<p class="soft">No rule names this action.</p>`}
    ${plan && html`<p class="small faint">The list reads ${plan.index.length ? html`the index <code>${plan.index.join(", ")}</code>` : "all documents"}.</p>`}</div>`;
}

/** @param {{ project: string, collection: string, result: any, test: object, record: string, keep: (test: object) => void, close: () => void }} given */
function Naming({ project, collection, result, test, record, keep, close }) {
  const form = useForm({ name: "" }, async ({ name }) => {
    const given = record ? { given: (await call(`${pathOfCollection(project, collection)}/documents/${encodeURIComponent(record)}`)).data } : {};
    keep({ name, collection, ...test, ...given, expect: result.allowed ? "allowed" : "refused" });
    close();
  });
  return html`<${Dialog} title="Save as test" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <p class="soft">The test is kept with the rules. Rules and schemas that break it are refused.</p><${Field} form=${form} name="name" label="Name" autofocus hint="Such as: a guest reads books" /></div>
    <${DialogFoot} form=${form} action="Add the test" close=${close} /></form><//>`;
}
