/** The operator's own tokens: what a pipeline sends in the place of a password. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { Time } from "../app/texts.js";
import { useAction } from "./action.js";
import { Dialog } from "./dialog.js";
import { Alert, DialogFoot, Field, Select, useForm } from "./form.js";
import { Icon } from "./icon.js";
import { Secret } from "./secret.js";
import { Loaded } from "./states.js";

const AREAS = { "*": "All areas", data: "Data", schema: "Schemas and rules", users: "Users", config: "Settings and keys", logs: "Logs", deployment: "The deployment" };

export function Tokens() {
  const [isMaking, make] = useState(false);
  const loading = useLoading((signal) => call("me/tokens", { signal }), []);
  const { act, notice } = useAction(loading.reload);
  const tokens = loading.data?.tokens;
  return html`<section class="card card-list" aria-labelledby="tokens"><div class="card-head"><h2 id="tokens">Tokens</h2><span class="push" />
      <button class="button" onClick=${() => make(true)}><${Icon} name="plus" />New token</button></div>${notice}
    <${Loaded} loading=${loading}>${tokens?.length === 0 && html`<p class="listing soft">A token lets a program call the Admin API, within its scopes.</p>`}
      ${tokens?.map((/** @type {any} */ token) => html`<div class="listing" key=${token.id}><${Icon} name="key-round" />
        <div class="listing-text"><span dir="auto">${token.name}</span><p><code>${token.scopes.join(" ")}</code>, until <${Time} at=${token.expires_at} day />, last used <${Time} at=${token.last_used_at} /></p></div>
        <span class="push" />${Date.parse(token.expires_at) > Date.now() ? html`<button class="button" aria-label=${`Revoke ${token.name}`}
          onClick=${() => act(() => call(`me/tokens/${token.id}`, { method: "DELETE" }))}>Revoke</button>` : html`<span class="badge">ended</span>`}</div>`)}<//>
    ${isMaking && html`<${NewToken} close=${() => make(false)} made=${loading.reload} />`}
  </section>`;
}

/** @param {{ close: () => void, made: () => void }} given */
function NewToken({ close, made }) {
  const [token, setToken] = useState("");
  const form = useForm({ name: "", project: "*", area: "data", level: "read", days: "90" }, async ({ name, project, area, level, days }) => {
    const body = { name, scopes: [`${project}:${area}:${level}`], days: Number(days) };
    setToken((await call("me/tokens", { method: "POST", body })).token);
    made();
  });
  if (token)
    return html`<${Dialog} title="The new token" close=${close}><div class="dialog-body"><p class="soft">It is not shown again.</p><${Secret} name="Token" text=${token} /></div>
      <div class="dialog-foot"><button class="button button-primary" onClick=${close}>I have kept it</button></div><//>`;
  return html`<${Dialog} title="New token" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <${Field} form=${form} name="name" label="Name" autofocus />
    <${Field} form=${form} name="project" label="Project" hint="Its id, or * for all projects." />
    <${Select} form=${form} name="area" label="Area" choices=${AREAS} />
    <${Select} form=${form} name="level" label="Level" choices=${{ read: "Read", write: "Read and write" }} />
    <${Field} form=${form} name="days" label="Days" inputmode="numeric" hint="1 to 400." />
    </div><${DialogFoot} form=${form} action="Create token" close=${close} /></form><//>`;
}
