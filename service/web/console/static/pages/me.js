/** The operator's own account: password, second factor, sessions, tokens, keys of the keyboard. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { DEPLOYMENT_PAGES } from "../app/pages.js";
import { hasSingleKeys, setSingleKeys } from "../app/keys.js";
import { useLoading } from "../app/loading.js";
import { enter, leave, me } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { describeRoles, Time } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { Dialog, Question } from "../parts/dialog.js";
import { Codes, Enrolment } from "../parts/enrolment.js";
import { Alert, DialogFoot, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Loaded } from "../parts/states.js";
import { Tokens } from "../parts/tokens.js";

const refresh = async () => enter(await call("session"));

export default function Account() {
  const operator = me.value?.operator;
  const { act, notice } = useAction(() => undefined);
  const signOut = () => act(async () => {
    await call("session", { method: "DELETE" });
    leave();
  });
  return html`<main class="main"><${Bar} title="My account"><button class="button" onClick=${signOut}><${Icon} name="log-out" />Sign out</button><//>
    <div class="page"><div class="page-inner stack">${notice}
      <div class="person"><span class="avatar avatar-large avatar-word" aria-hidden="true"><${Icon} name="user" /></span>
        <div><h2 dir="auto">${operator?.name}</h2><p class="soft">${operator?.email}, ${describeRoles(operator?.roles ?? {})}</p></div></div>
      <${Access} /><${Sessions} /><${Tokens} /><${Keyboard} />
    </div></div></main>`;
}

/** Password and second factor. */
function Access() {
  const [opened, open] = useState("");
  const close = () => open("");
  const { act, notice } = useAction(() => refresh());
  const factor = me.value?.operator.factors[0];
  return html`<section class="card card-list" aria-labelledby="access"><div class="card-head"><h2 id="access">Sign-in</h2></div>${notice}
    <div class="listing"><${Icon} name="shield" /><div>Password</div><button class="button push" onClick=${() => open("password")}>Change password</button></div>
    <div class="listing"><${Icon} name="smartphone" /><div>Authenticator app<p>${factor ? html`since <${Time} at=${factor.created_at} day />, ${factor.recovery_codes_left} recovery codes left` : "none"}</p></div>
      <div class="row push">${factor
        ? html`<button class="button" onClick=${() => open("codes")}>New codes</button><button class="button" onClick=${() => open("remove")}>Remove</button>`
        : html`<button class="button" onClick=${() => open("totp")}>Set up</button>`}</div></div>
    ${opened === "password" && html`<${Password} close=${close} />`}
    ${opened === "totp" && html`<${Dialog} title="Set up an authenticator app" close=${close}><div class="dialog-body"><${Enrolment} call=${call} done=${close} /></div><//>`}
    ${opened === "codes" && html`<${NewCodes} close=${close} />`}
    ${opened === "remove" && html`<${Question} title="Remove the authenticator app" action="Remove" close=${close}
      act=${() => act(() => call("me/totp", { method: "DELETE" }))}><p>Then your password alone signs you in, and the recovery codes are void.</p><//>`}
  </section>`;
}

/** @param {{ close: () => void }} given */
function Password({ close }) {
  const form = useForm({ current_password: "", password: "" }, async (body) => {
    await call("me/password", { method: "PUT", body });
    close();
  });
  return html`<${Dialog} title="Change password" close=${close}><form onSubmit=${form.submit}><div class="dialog-body">
    <p class="soft">Your other sessions end.</p><input class="unseen" type="email" autocomplete="username" value=${me.value?.operator.email} tabindex="-1" aria-hidden="true" readonly /><${Alert} form=${form} />
    <${Field} form=${form} name="current_password" label="Current password" type="password" autocomplete="current-password" autofocus />
    <${Field} form=${form} name="password" label="New password" type="password" autocomplete="new-password" hint="At least 12 characters." />
    </div><${DialogFoot} form=${form} action="Change" close=${close} /></form><//>`;
}

/** @param {{ close: () => void }} given */
function NewCodes({ close }) {
  const [codes, setCodes] = useState(/** @type {string[] | null} */ (null));
  const form = useForm({}, async () => setCodes((await call("me/recovery-codes", { method: "POST" })).recovery_codes));
  const done = () => {
    close();
    refresh();
  };
  if (codes) return html`<${Dialog} title="New recovery codes" close=${done}><div class="dialog-body"><${Codes} codes=${codes} done=${done} /></div><//>`;
  return html`<${Dialog} title="New recovery codes" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <p class="soft">The codes that you have are void then.</p></div><${DialogFoot} form=${form} action="Make codes" close=${close} /></form><//>`;
}

function Sessions() {
  const loading = useLoading((signal) => call("me/sessions", { signal }), []);
  const { act, notice } = useAction(loading.reload);
  return html`<section class="card card-list" aria-labelledby="sessions"><div class="card-head"><h2 id="sessions">Sessions</h2></div>${notice}
    <${Loaded} loading=${loading}>${loading.data?.sessions.map((/** @type {any} */ each) => html`<div class="listing" key=${each.id}><${Icon} name="monitor" />
      <div class="listing-text"><span dir="auto">${each.user_agent || "Unknown browser"}</span><p>${each.ip}, seen <${Time} at=${each.last_seen_at} /></p></div>
      <span class="push" />${each.current ? html`<span class="badge badge-good">this one</span>`
        : html`<button class="button" aria-label=${`End the session from ${each.ip}`} onClick=${() => act(() => call(`me/sessions/${each.id}`, { method: "DELETE" }))}>End</button>`}</div>`)}<//>
  </section>`;
}

function Keyboard() {
  return html`<section class="card" aria-labelledby="keyboard"><div class="card-head"><h2 id="keyboard">Keys</h2></div><div class="card-body">
    <dl class="keys"><dt><kbd class="kbd">Ctrl K</kbd></dt><dd>Search pages and projects</dd><dt><kbd class="kbd">/</kbd></dt><dd>Filter</dd>
      ${DEPLOYMENT_PAGES.map(({ key, title }) => html`<dt key=${title}><kbd class="kbd">g</kbd> <kbd class="kbd">${key}</kbd></dt><dd>${title}</dd>`)}
      <dt><kbd class="kbd">?</kbd></dt><dd>This list</dd></dl>
    <p><label class="row"><input class="switch" type="checkbox" role="switch" checked=${hasSingleKeys.value}
      onChange=${(/** @type {Event} */ event) => setSingleKeys(/** @type {HTMLInputElement} */ (event.currentTarget).checked)} />Single keys</label></p></div></section>`;
}
