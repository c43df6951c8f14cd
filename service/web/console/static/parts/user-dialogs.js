/** What an operator does about a user: another profile, a password, a link, and acting as the user. */
import { useState } from "preact/hooks";
import { beginActing } from "../app/acting.js";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { addressOf, Time } from "../app/texts.js";
import { Dialog } from "./dialog.js";
import { Editor, parseJson, writeJson } from "./editor.js";
import { Alert, DialogFoot, Field, Select, useForm } from "./form.js";
import { Secret } from "./secret.js";

const PURPOSES = { sign_in: "Signs in", verify_email: "Proves the address", reset_password: "Chooses another password", invite: "Invites" };

/** @param {{ path: string, user: any, close: () => void, done: () => void }} given */
export function EditUser({ path, user, close, done }) {
  const roles = (user.roles ?? []).join(", ");
  const form = useForm({ email: user.email ?? "", roles, data: writeJson(user.data), claims: writeJson(user.claims) }, async (values) => {
    const data = parseJson(values.data ?? "").value;
    const changed = Object.entries(data).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(user.data[name]));
    const gone = Object.keys(user.data).filter((name) => !(name in data)).map((name) => [name, null]);
    const body = {
      ...(changed.length + gone.length ? { data: Object.fromEntries([...changed, ...gone]) } : {}),
      ...(values.claims === writeJson(user.claims) ? {} : { claims: parseJson(values.claims ?? "").value }),
      ...(values.email === (user.email ?? "") ? {} : { email: values.email }),
    };
    if (Object.keys(body).length) await call(path, { method: "PATCH", body });
    if (values.roles !== roles) await call(`${path}/roles`, { method: "PUT", body: { roles: String(values.roles ?? "").split(",").map((/** @type {string} */ each) => each.trim()).filter(Boolean) } });
    done();
  });
  const data = parseJson(form.values.data ?? "");
  const claims = parseJson(form.values.claims ?? "");
  return html`<${Dialog} title="Edit the user" close=${close} size="wide"><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <${Field} form=${form} name="email" label="Email" type="email" required=${!!user.email} hint="Another address is not proven." />
    <${Field} form=${form} name="roles" label="Roles" required=${false} hint="Separated by commas." />
    <div class="stack-small"><span class="field-label">Profile</span><${Editor} label="Profile" value=${form.values.data} change=${(/** @type {string} */ text) => form.set("data", text)} mistake=${data.mistake} rows=${5} />
      <span class="field-error">${form.faults.data}</span></div>
    <div class="stack-small"><span class="field-label">Claims</span><${Editor} label="Claims" value=${form.values.claims} change=${(/** @type {string} */ text) => form.set("claims", text)} mistake=${claims.mistake} rows=${1} />
      <span class="field-error">${form.faults.claims}</span></div>
    </div><div class="dialog-foot"><button class="button" type="button" onClick=${close}>Cancel</button><button class="button button-primary" aria-disabled=${form.isBusy} disabled=${data.mistake || claims.mistake}>Save</button></div></form><//>`;
}

/** @param {{ path: string, close: () => void, done: () => void }} given */
export function SetPassword({ path, close, done }) {
  const form = useForm({ password: "" }, async (body) => {
    await call(`${path}/password`, { method: "PUT", body });
    done();
  });
  return html`<${Dialog} title="Set the password" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} /><p class="soft">The user's sessions end, and no mail is sent.</p>
    <${Field} form=${form} name="password" label="New password" type="password" autocomplete="new-password" autofocus /></div><${DialogFoot} form=${form} action="Set" close=${close} /></form><//>`;
}

/** @param {{ path: string, close: () => void }} given */
export function MakeLink({ path, close }) {
  const [made, keep] = useState(/** @type {any} */ (null));
  const form = useForm({ purpose: "reset_password" }, async (body) => keep(await call(`${path}/links`, { method: "POST", body })));
  if (made)
    return html`<${Dialog} title="The link" close=${close}><div class="dialog-body"><p class="soft">It works once, until <${Time} at=${made.expires_at} />. Hand it to the user in person: it can do what the user's mailbox could.</p>
      ${made.url && html`<${Secret} name="Link" text=${made.url} />`}${made.code && html`<${Secret} name="Code" text=${made.code} />`}</div>
      <div class="dialog-foot"><button class="button button-primary" onClick=${close}>I have kept it</button></div><//>`;
  return html`<${Dialog} title="Make a link" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} /><p class="soft">No mail is sent.</p>
    <${Select} form=${form} name="purpose" label="What it does" choices=${PURPOSES} /></div><${DialogFoot} form=${form} action="Make the link" close=${close} /></form><//>`;
}

/** @param {{ project: string, user: any, close: () => void, done: () => void }} given */
export function ActAs({ project, user, close, done }) {
  const form = useForm({ reason: "" }, async (body) => {
    beginActing(project, await call(`${pathOf(project)}/users/${encodeURIComponent(user.id)}/act-as`, { method: "POST", body }));
    done();
  });
  return html`<${Dialog} title="Act as the user" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <p class="soft">For 15 minutes you read and write what the rules allow to <b dir="auto">${addressOf(user)}</b>. The user sees the session; the reason stands in the audit log.</p>
    <${Field} form=${form} name="reason" label="Reason" autofocus /></div><${DialogFoot} form=${form} action="Begin" close=${close} /></form><//>`;
}
