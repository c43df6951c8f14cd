/** One rule as a choice: nobody, anyone, users, the owner, or a text of JSON. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { Editor, parseJson, writeJson } from "./editor.js";
import { Icon } from "./icon.js";

const ICONS = { read: "eye", create: "plus", update: "pencil", delete: "trash-2" };
const TITLES = { read: "Read", create: "Create", update: "Update", delete: "Delete" };
const KINDS = { nobody: "Nobody", anyone: "Anyone", users: "Users", owner: "Owner", custom: "Custom" };

/** @param {unknown} rule @returns {{ kind: string, field: string }} */
export function readRule(rule) {
  if (rule === undefined || rule === false) return { kind: "nobody", field: "" };
  if (rule === "anyone" || rule === "users") return { kind: rule, field: "" };
  const entries = rule && typeof rule === "object" && !Array.isArray(rule) ? Object.entries(rule) : [];
  const [[key = "", value] = []] = entries;
  if (entries.length === 1 && value === "$user.id" && key.endsWith("_eq")) return { kind: "owner", field: key.slice(0, -3) };
  return { kind: "custom", field: "" };
}

/** @param {string} kind @param {string} field @param {unknown} before @returns {unknown} Undefined where the action has no rule. */
function writeRule(kind, field, before) {
  if (kind === "nobody") return undefined;
  if (kind === "anyone" || kind === "users") return kind;
  if (kind === "owner") return { [`${field}_eq`]: "$user.id" };
  return before && typeof before === "object" ? before : { "$user.roles_eq": "editor" };
}

/** @param {{ action: "read" | "create" | "update" | "delete", rule: unknown, owners: string[], faults: import("../app/api.js").Fault[], mayWrite: boolean,
 *   change: (rule: unknown) => void }} given */
export function RuleRow({ action, rule, owners, faults, mayWrite, change }) {
  const { kind, field } = readRule(rule);
  const [isCustom, setCustom] = useState(kind === "custom");
  const shown = isCustom ? "custom" : kind;
  const chosen = (/** @type {Event} */ event) => /** @type {HTMLSelectElement} */ (event.currentTarget).value;
  const choose = (/** @type {Event} */ event) => {
    const next = chosen(event);
    setCustom(next === "custom");
    change(writeRule(next, field || (owners[0] ?? ""), rule));
  };
  return html`<div class="rule"><div class="rule-name"><${Icon} name=${ICONS[action]} />${TITLES[action]}</div><div class="rule-body">
    <div class="rule-line"><select class="input input-small rule-select" aria-label=${TITLES[action]} disabled=${!mayWrite} onChange=${choose}>
        ${Object.entries(KINDS).filter(([each]) => each !== "owner" || owners.length > 0 || shown === "owner").map(([each, text]) => html`<option key=${each} value=${each} selected=${each === shown}>${text}</option>`)}</select>
      ${shown === "owner" && html`<span class="soft">by</span><select class="input input-small owner-field" aria-label="Field of the owner" disabled=${!mayWrite} onChange=${(/** @type {Event} */ event) => change(writeRule("owner", chosen(event), rule))}>
        ${[...new Set([field, ...owners])].map((each) => html`<option key=${each} value=${each} selected=${each === field}>${each}</option>`)}</select>`}
      ${shown === "nobody" && html`<span class="faint small">but the secret key</span>`}</div>
    ${shown === "custom" && html`<${JsonRule} label=${`The rule for ${action}`} value=${rule} mayWrite=${mayWrite} change=${change} />`}
    ${faults.map(({ loc, msg }) => html`<p class="field-error" role="alert" key=${loc.join()}><code>${loc.slice(4).join(".")}</code> ${msg}</p>`)}</div></div>`;
}

/** @param {{ label: string, value: unknown, mayWrite: boolean, change: (value: any) => void, rows?: number }} given Undefined is an empty text. */
export function JsonRule({ label, value, mayWrite, change, rows = 3 }) {
  const [text, setText] = useState(() => (value === undefined ? "" : writeJson(value)));
  const parsed = text.trim() ? parseJson(text) : { value: undefined, mistake: null };
  const type = (/** @type {string} */ next) => {
    setText(next);
    const { value: found, mistake } = next.trim() ? parseJson(next) : { value: undefined, mistake: null };
    if (!mistake) change(found);
  };
  return html`<${Editor} label=${label} value=${text} change=${type} readonly=${!mayWrite} mistake=${parsed.mistake} rows=${rows} />`;
}
