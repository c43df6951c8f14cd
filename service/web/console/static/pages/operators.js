/** The people who run the deployment: their roles, and the links that invite others. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { allows, me } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { describeRoles, number, Time } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { Dialog, Question } from "../parts/dialog.js";
import { Alert, DialogFoot, Field, Select, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Secret } from "../parts/secret.js";
import { Loaded } from "../parts/states.js";

const ROLES = { viewer: "Viewer: reads", editor: "Editor: changes data", admin: "Admin: changes everything of a project", owner: "Owner: everything, of the whole deployment" };

export default function Operators() {
  const [opened, open] = useState(/** @type {{ dialog: string, operator?: any, invitation?: any }} */ ({ dialog: "" }));
  const loading = useLoading(async (signal) => {
    const [people, open] = await Promise.all([call("operators", { signal }), call("invitations", { signal })]);
    return { operators: people.operators, invitations: open.invitations };
  }, []);
  const { act, notice } = useAction(loading.reload);
  const mayWrite = allows("*", "deployment", "write");
  const close = () => open({ dialog: "" });
  const { operator, invitation } = opened;
  const reset = (/** @type {any} */ each) => act(async () =>
    open({ dialog: "link", invitation: (await call(`operators/${each.id}/reset`, { method: "POST", body: {} })).invitation }));
  const change = (/** @type {any} */ each, /** @type {object} */ body) => act(() => call(`operators/${each.id}`, { method: "PATCH", body }));
  return html`<main class="main"><${Bar} title="Operators" count=${loading.data ? number(loading.data.operators.length) : ""}>
      ${mayWrite && html`<button class="button button-primary" onClick=${() => open({ dialog: "invite" })}><${Icon} name="plus" />Invite</button>`}<//>
    <div class="page"><div class="page-inner stack">${notice}<${Loaded} loading=${loading}>${loading.data && html`<div class="stack">
      <section class="card card-list" aria-label="Operators">${loading.data.operators.map((/** @type {any} */ each) => html`<div class="listing" key=${each.id}><${Icon} name="user" />
        <div class="listing-text"><span dir="auto">${each.name}</span> ${each.disabled && html`<span class="badge badge-warn">disabled</span>`}
          <p>${each.email}, ${describeRoles(each.roles)}. ${each.factors.length ? "With a second factor." : "No second factor."} Seen <${Time} at=${each.last_seen_at} />.</p></div>
        ${mayWrite && html`<div class="row push"><button class="button" aria-label=${`Role of ${each.name}`} onClick=${() => open({ dialog: "role", operator: each })}>Role</button>
          ${each.id !== me.value?.operator.id && html`
            <button class="button" aria-label=${`Reset ${each.name}`} onClick=${() => reset(each)}>Reset</button>
            <button class="button" aria-label=${`${each.disabled ? "Enable" : "Disable"} ${each.name}`} onClick=${() => change(each, { disabled: !each.disabled })}>${each.disabled ? "Enable" : "Disable"}</button>
            <button class="button" aria-label=${`Remove ${each.name}`} onClick=${() => open({ dialog: "remove", operator: each })}>Remove</button>`}</div>`}</div>`)}</section>
      <section class="card card-list" aria-labelledby="invitations"><div class="card-head"><h2 id="invitations">Open invitations</h2></div>
        ${loading.data.invitations.length === 0 && html`<p class="listing soft">None. A link that was made is shown once, and works once.</p>`}
        ${loading.data.invitations.map((/** @type {any} */ each) => html`<div class="listing" key=${each.id}><${Icon} name="link" />
          <div class="listing-text">${each.email ?? "The first owner"}<p>${each.kind === "reset" ? "A new beginning" : describeRoles(each.roles)}, until <${Time} at=${each.expires_at} /></p></div>
          ${mayWrite && html`<button class="button push" aria-label=${`Revoke the invitation of ${each.email}`} onClick=${() => act(() => call(`invitations/${each.id}`, { method: "DELETE" }))}>Revoke</button>`}</div>`)}</section>
    </div>`}<//></div></div>
    ${opened.dialog === "invite" && html`<${Invite} close=${close} done=${loading.reload} />`}
    ${opened.dialog === "role" && html`<${Role} operator=${operator} close=${close} done=${loading.reload} />`}
    ${opened.dialog === "link" && html`<${Link} invitation=${invitation} close=${close} />`}
    ${opened.dialog === "remove" && html`<${Question} title=${`Remove ${operator.name}`} action="Remove" close=${close}
      act=${() => act(() => call(`operators/${operator.id}`, { method: "DELETE" }))}><p>The account ends at once, with its sessions and tokens.</p><//>`}
  </main>`;
}

/** @param {Record<string, string>} values @returns {Record<string, string>} */
const readRoles = ({ project, role }) => ({ [role === "owner" ? "*" : (project ?? "*")]: role ?? "viewer" });

/** @param {{ form: import("../parts/form.js").FormState }} given */
function RoleFields({ form }) {
  return html`<${Select} form=${form} name="role" label="Role" choices=${ROLES} />
    ${form.values.role !== "owner" && html`<${Field} form=${form} name="project" label="Project" hint="Its id, or * for all projects." />`}`;
}

/** @param {{ close: () => void, done: () => void }} given */
function Invite({ close, done }) {
  const [made, setMade] = useState(/** @type {any} */ (null));
  const form = useForm({ email: "", role: "viewer", project: "*", hours: "24" }, async (values) => {
    const body = { email: values.email, roles: /** @type {Record<string, "viewer">} */ (readRoles(values)), hours: Number(values.hours) };
    setMade((await call("operators", { method: "POST", body })).invitation);
    done();
  });
  if (made) return html`<${Link} invitation=${made} close=${close} />`;
  return html`<${Dialog} title="Invite an operator" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <${Field} form=${form} name="email" label="Email" type="email" autofocus /><${RoleFields} form=${form} />
    <${Field} form=${form} name="hours" label="Hours" inputmode="numeric" hint="The link is good for 1 to 72 hours." />
    </div><${DialogFoot} form=${form} action="Make a link" close=${close} /></form><//>`;
}

/** @param {{ invitation: any, close: () => void }} given */
function Link({ invitation, close }) {
  return html`<${Dialog} title="Hand this link over" close=${close}><div class="dialog-body">
    <p class="soft">It works once, until <${Time} at=${invitation.expires_at} />. It is not shown again, and not mailed.</p><${Secret} name="Link" text=${invitation.link} /></div>
    <div class="dialog-foot"><button class="button button-primary" onClick=${close}>I have kept it</button></div><//>`;
}

/** @param {{ operator: any, close: () => void, done: () => void }} given */
function Role({ operator, close, done }) {
  const entries = Object.entries(operator.roles);
  const [project, role] = entries[0] ?? ["*", "viewer"];
  const form = useForm({ project, role: String(role) }, async (values) => {
    const kept = Object.fromEntries(entries.slice(1));
    await call(`operators/${operator.id}`, { method: "PATCH", body: { roles: { ...kept, ...readRoles(values) } } });
    close();
    done();
  });
  return html`<${Dialog} title=${`Role of ${operator.name}`} close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <p class="soft">Sessions of the operator end.</p><${RoleFields} form=${form} /></div><${DialogFoot} form=${form} action="Save" close=${close} /></form><//>`;
}
