/** How users of a project sign in: the methods in force, and the identity providers with a trial of each. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { link } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { useAction } from "../parts/action.js";
import { Dialog, Question } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { ProviderPanel } from "../parts/provider-form.js";
import { Copy } from "../parts/secret.js";
import { Empty, Loaded } from "../parts/states.js";
import { Trial } from "../parts/trial.js";

/** @typedef {import("../parts/provider-form.js").Provider} Provider */
/** @typedef {import("../parts/provider-form.js").Preset} Preset */

/** @param {{ project: string }} given */
export default function SignIn({ project }) {
  const path = `projects/${encodeURIComponent(project)}`;
  const [opened, open] = useState(/** @type {{ dialog: string, preset?: Preset, provider?: Provider | null }} */ ({ dialog: "" }));
  const loading = useLoading(async (signal) => {
    const [listed, presets, found, schema] = await Promise.all(
      [`${path}/providers`, "provider-presets", `${path}/settings`, "settings-schema"].map((each) => call(each, { signal })));
    return { providers: /** @type {Provider[]} */ (listed.providers), presets: /** @type {Preset[]} */ (presets.presets), settings: found.settings, forms: schema.properties };
  }, [project]);
  const { act, notice } = useAction(loading.reload);
  const found = loading.data;
  const mayWrite = allows(project, "config", "write");
  const close = () => open({ dialog: "" });
  const edit = (/** @type {Provider} */ provider) => open({ dialog: "form", provider, preset: found?.presets.find(({ name }) => name === provider.preset) });
  return html`<main class="main"><${Bar} title="Sign-in">${mayWrite && html`<button class="button button-primary" onClick=${() => open({ dialog: "presets" })}><${Icon} name="plus" />Add provider</button>`}<//>
    <div class="split"><div class="page"><div class="page-inner stack">${notice}<${Loaded} loading=${loading}>${found && html`<div class="stack">
      <${Methods} project=${project} found=${found} />
      <section class="card card-list" aria-labelledby="providers"><div class="card-head"><h2 id="providers">Providers</h2></div>
        ${found.providers.map((each) => html`<${Row} key=${each.name} project=${project} provider=${each} mayWrite=${mayWrite} edit=${() => edit(each)} remove=${() => open({ dialog: "remove", provider: each })} />`)}
        ${!found.providers.length && html`<${Empty} icon="log-in" title="No providers yet"><p>With a provider, users sign in by an account that they have elsewhere.</p>
          <pre class="code" tabindex="0" aria-label="The same as a command">auth-collections provider set ${project} google CLIENT_ID=… CLIENT_SECRET=…</pre><//>`}</section></div>`}<//></div></div>
      ${opened.dialog === "form" && opened.preset && html`<${ProviderPanel} key=${opened.provider?.name ?? opened.preset.name} project=${project} preset=${opened.preset} provider=${opened.provider ?? null}
        close=${close} done=${() => { close(); loading.reload(); }} />`}</div>
    ${opened.dialog === "presets" && html`<${Presets} presets=${found?.presets ?? []} close=${close} choose=${(/** @type {Preset} */ preset) => open({ dialog: "form", preset })} />`}
    ${opened.dialog === "remove" && html`<${Question} title=${`Remove ${opened.provider?.title}`} action="Remove" close=${close}
      act=${() => act(() => call(`${path}/providers/${opened.provider?.name}`, { method: "DELETE" }))}><p>No sign-in by it succeeds any more. Its users stay.</p><//>`}
  </main>`;
}

/** What holds now, with the way to each of its settings. @param {{ project: string, found: any }} given */
function Methods({ project, found }) {
  const value = (/** @type {string} */ name) => found.settings[name] ?? found.forms[name]?.default;
  const lines = [
    ["key-round", "Password", `At least ${value("PASSWORD_MIN_LENGTH")} characters${value("PASSWORD_CHECK") === "common" ? ", no common one" : ""}.`, "PASSWORD_MIN_LENGTH"],
    ["user", "User names", { off: "Users sign in by their addresses alone.", optional: "A user may have one, which signs in as the address does.", required: "A new user must have one, which signs in as the address does." }[String(value("USERNAMES"))], "USERNAMES"],
    ["badge-check", "Proof of the address", { off: "Not asked for.", optional: "A signup is mailed a code.", required: "Without it no sign-in by password succeeds." }[String(value("EMAIL_VERIFICATION"))], "EMAIL_VERIFICATION"],
    ["smartphone", "Second factors", { off: "Never asked for.", optional: "Asked of users that have one.", required: "All users must have one." }[String(value("MFA"))], "MFA"],
    ["fingerprint", "Passkeys", value("WEBAUTHN_RP_ID") ? `They belong to ${value("WEBAUTHN_RP_ID")}.` : "Off: they need a domain.", "WEBAUTHN_RP_ID"],
    ["timer", "Sessions", value("SESSION_IDLE") ? "They end when they are unused." : "They end after a fixed time.", "SESSION_LIFETIME"],
  ];
  return html`<section class="card card-list" aria-labelledby="methods"><div class="card-head"><h2 id="methods">In force</h2></div>
    ${lines.map(([icon, title, text, setting]) => html`<div class="listing" key=${title}><${Icon} name=${icon} /><div class="listing-text"><span>${title}</span><p dir="auto">${text}</p></div>
      <a class="button push" aria-label=${`Settings of ${title}`} href=${link(["projects", project, "settings", found.forms[String(setting)]?.["x-group"] ?? ""])}>Settings</a></div>`)}</section>`;
}

/** @param {{ project: string, provider: Provider, mayWrite: boolean, edit: () => void, remove: () => void }} given */
function Row({ project, provider, mayWrite, edit, remove }) {
  const [outcome, show] = useState(/** @type {import("../parts/trial.js").Outcome | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const { act, notice } = useAction(() => undefined);
  const check = async () => {
    if (isBusy) return;
    setBusy(true);
    show(null);
    await act(async () => show(await call(`projects/${encodeURIComponent(project)}/providers/${provider.name}/check`, { method: "POST" })));
    setBusy(false);
  };
  const settings = link(["projects", project, "settings", "Sign-in through a provider"]);
  return html`<div class="provider-row"><div class="listing"><${Icon} name="log-in" /><div class="listing-text"><span dir="auto">${provider.title}</span> <span class="id">${provider.name}</span>
      <p class="row"><code class="cut" dir="auto" title=${provider.redirect_url}>${provider.redirect_url}</code><${Copy} text=${provider.redirect_url} name=${`the redirect URL of ${provider.name}`} /></p></div>
    ${mayWrite && html`<div class="row push"><button class="button" aria-label=${`Check ${provider.name}`} aria-disabled=${isBusy} onClick=${check}>${isBusy ? "Checking" : "Check"}</button>
      ${provider.preset ? html`<button class="button" aria-label=${`Edit ${provider.name}`} onClick=${edit}>Edit</button><button class="button" aria-label=${`Remove ${provider.name}`} onClick=${remove}>Remove</button>`
        : html`<a class="button" href=${settings}>Edit</a>`}</div>`}</div>${notice}<${Trial} outcome=${outcome} good="A sign-in can use it" /></div>`;
}

/** @param {{ presets: Preset[], close: () => void, choose: (preset: Preset) => void }} given */
function Presets({ presets, close, choose }) {
  return html`<${Dialog} title="Which provider" close=${close}><div class="dialog-body">${presets.map((preset) => html`<button key=${preset.name} class="menu-item" onClick=${() => choose(preset)}>
    <${Icon} name="log-in" /><span>${preset.title}</span><span class="push faint small">${preset.name}</span></button>`)}</div>
    <div class="dialog-foot"><button class="button" onClick=${close}>Cancel</button></div><//>`;
}
