/** The texts of a project's mails by kind and language, with a preview of each. */
import { useId, useState } from "preact/hooks";
import { html } from "../app/html.js";

/** @typedef {{ subject?: string, heading?: string, paragraphs?: string[], button?: string }} MailText */

const ACTIONS = ["sign_in", "verify_email", "reset_password", "change_email", "invite"];
const NOTICES = ["account_exists", "password_changed", "email_changed", "identity_changed", "session_reuse", "factor_changed", "recovery_code_used"];
const LANGUAGES = ["en", "de", "fr"];
const SAMPLE = { email: "ann@example.com", code: "402719", link: "https://example.com/…", minutes: "30" };

/** @param {string} text @param {string} project @returns {string} */
const fill = (text, project) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => (name === "project" ? project : (SAMPLE[/** @type {keyof typeof SAMPLE} */ (name)] ?? whole)));

/** @param {{ settings: import("./settings.js").Settings, project: string, mayWrite: boolean }} given `project` is a name. */
export function MailTexts({ settings, project, mayWrite }) {
  const [kind, setKind] = useState("sign_in");
  const [language, setLanguage] = useState("en");
  const { draft, found } = settings;
  const all = ("MAIL_TEXTS" in draft.edits ? draft.edits.MAIL_TEXTS : found.settings.MAIL_TEXTS) ?? {};
  /** @type {MailText} */
  const text = all[kind]?.[language] ?? {};
  const set = (/** @type {MailText | null} */ given) => {
    const { [language]: _, ...languages } = all[kind] ?? {};
    const { [kind]: before, ...kinds } = all;
    const changed = given ? { ...languages, [language]: given } : languages;
    const after = Object.keys(changed).length ? { ...kinds, [kind]: changed } : kinds;
    settings.set("MAIL_TEXTS", Object.keys(after).length ? after : null);
  };
  const change = (/** @type {Partial<MailText>} */ part) => set({ ...text, ...part });
  const isAction = ACTIONS.includes(kind);
  const languages = [...new Set([...LANGUAGES, ...Object.values(all).flatMap((each) => Object.keys(each))])];
  return html`<form class="stack" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); settings.save(); }}>
    <p class="soft">A kind without a text of your own has ours, in the language of the user. Placeholders: <code>{project}</code>, <code>{email}</code>${isAction && html`, <code>{code}</code>, <code>{link}</code>, <code>{minutes}</code>`}.</p>
    <div class="mail-text"><fieldset class="plain stack" disabled=${!mayWrite} aria-label="Text">
        <div class="mail-pair"><${Pick} label="Kind" value=${kind} values=${[...ACTIONS, ...NOTICES]} own=${Object.keys(all)} choose=${setKind} />
          <${Pick} label="Language" value=${language} values=${languages} own=${Object.keys(all[kind] ?? {})} choose=${setLanguage} /></div>
        <${Line} label="Subject" value=${text.subject ?? ""} set=${(/** @type {string} */ subject) => change({ subject })} />
        <${Line} label="Heading" value=${text.heading ?? ""} set=${(/** @type {string} */ heading) => change({ heading })} />
        <${Line} label="Paragraphs" isLong value=${(text.paragraphs ?? []).join("\n")} set=${(/** @type {string} */ lines) => change({ paragraphs: lines.split("\n") })} />
        ${isAction && html`<${Line} label="Button text" value=${text.button ?? ""} set=${(/** @type {string} */ button) => change({ button })} />`}
        ${all[kind]?.[language] && html`<div><button class="button" type="button" onClick=${() => set(null)}>Use ours again</button></div>`}</fieldset>
      <section class="mail-preview" aria-label="Preview" dir="auto">${all[kind]?.[language] ? html`<span class="faint small">${fill(text.subject ?? "", project)}</span>
        <h2>${fill(text.heading ?? "", project)}</h2>${(text.paragraphs ?? []).map((each, index) => html`<p key=${index}>${fill(each, project)}</p>`)}
        ${isAction && text.button && html`<span class="button button-primary">${text.button}</span>`}` : html`<p class="soft">Our own text is sent. Type a subject to begin yours.</p>`}</section></div>
    ${draft.faults.MAIL_TEXTS && html`<p class="field-error">${draft.faults.MAIL_TEXTS}</p>`}<button hidden /></form>`;
}

/** @param {{ label: string, value: string, values: string[], own: string[], choose: (value: string) => void }} given `own` have a text. */
function Pick({ label, value, values, own, choose }) {
  const id = useId();
  return html`<div class="field field-above"><label class="field-label" for=${id}>${label}</label><select class="input" id=${id}
    onChange=${(/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
    ${values.map((each) => html`<option key=${each} value=${each} selected=${each === value}>${each.replaceAll("_", " ")}${own.includes(each) ? " (your own)" : ""}</option>`)}</select></div>`;
}

/** @param {{ label: string, value: string, isLong?: boolean, set: (value: string) => void }} given */
function Line({ label, value, isLong = false, set }) {
  const id = useId();
  const shared = { id, value, dir: "auto", class: "input", onInput: (/** @type {any} */ event) => set(event.currentTarget.value) };
  return html`<div class="field field-above"><label class="field-label" for=${id}>${label}</label>
    ${isLong ? html`<textarea rows="5" ...${shared} />` : html`<input ...${shared} />`}${isLong && html`<span class="field-hint">A line is a paragraph.</span>`}</div>`;
}
