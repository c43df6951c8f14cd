/** A one-time link: the first owner's account, an invitation, or a reset of one's own account. */
import { useState } from "preact/hooks";
import { callOnce } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { replace } from "../app/router.js";
import { enter } from "../app/session.js";
import { describeRoles, remaining } from "../app/texts.js";
import { Alone } from "../parts/alone.js";
import { Alert, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Loaded } from "../parts/states.js";

const TITLES = { bootstrap: "Make the first account", invite: "Make your account", reset: "Begin again" };

/** @param {{ token: string, done: () => void }} given */
export function Join({ token, done }) {
  const [kept] = useState(token);
  const loading = useLoading(
    (signal) => callOnce("invitations/check", { method: "POST", body: { token: kept }, signal }).catch((error) => {
      if (error.status === 404 || error.status === 422) return null;
      throw error;
    }), [kept]);
  const found = loading.data;
  if (found === null)
    return html`<${Alone} title="This link is not good any more" lead="It was used, it is too old, or another link replaced it.">
      <p class="soft">Ask the person who sent it for another one. On the server,
        <code> auth-collections operator invite</code> and <code>operator reset</code> make them.</p>
      <a class="button button-large button-wide" href="#/" onClick=${done}>Sign in</a><//>`;
  if (!found) return html`<${Alone} title="Your link"><${Loaded} loading=${loading} /><//>`;
  return html`<${Account} invitation=${found} token=${kept} done=${done} />`;
}

/** @param {{ invitation: any, token: string, done: () => void }} given */
function Account({ invitation, token, done }) {
  const isFirst = invitation.email === null;
  const form = useForm({ name: "", ...(isFirst ? { email: "" } : {}), password: "" }, async (values) => {
    const made = await callOnce("invitations/accept", { method: "POST", body: { token, ...values } });
    replace("#/");
    enter(made);
    done();
  });
  const lead = isFirst
    ? "It owns this deployment: all projects, and the accounts of other operators."
    : `For ${invitation.email}: ${describeRoles(invitation.roles)}.`;
  const typed = [...(form.values.password ?? "")].length;
  return html`<${Alone} title=${TITLES[/** @type {keyof typeof TITLES} */ (invitation.kind)]} lead=${lead}>
    <form class="stack" onSubmit=${form.submit}>
      <${Alert} form=${form} />
      <${Field} form=${form} name="name" label="Name" autocomplete="name" autofocus />
      ${isFirst
        ? html`<${Field} form=${form} name="email" label="Email" type="email" autocomplete="username" />`
        : html`<input class="unseen" type="email" autocomplete="username" value=${invitation.email} tabindex="-1" aria-hidden="true" readonly />`}
      <${Field} form=${form} name="password" label="Password" type="password" autocomplete="new-password"
        hint=${`${typed} of at least 12 characters. Spaces count, and no rule asks for symbols.`} />
      <button class="button button-primary button-large button-wide" aria-disabled=${form.isBusy}>Create account</button>
    </form>
    <p class="small faint row"><${Icon} name="timer" small />The link is good for another ${remaining(invitation.expires_at)}, once.</p>
  <//>`;
}
