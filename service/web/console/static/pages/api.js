/** A collection as programs use it: each call as code, the types of its documents, and the document of the API. */
import { useState } from "preact/hooks";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { place } from "../app/router.js";
import { allows, me } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { CollectionTabs } from "../grid/toolbar.js";
import { callsOf, LANGUAGES } from "../parts/api-calls.js";
import { Icon } from "../parts/icon.js";
import { OfCollection } from "../parts/pair.js";
import { Copy } from "../parts/secret.js";
import { Choice } from "../parts/tabs.js";

/** @typedef {import("../app/collections.js").Collection} Collection */

/** @param {{ project: string, parts: { collection?: string } }} given */
export default function Api({ project, parts }) {
  return html`<${OfCollection} project=${project} name=${parts.collection ?? ""} current="api" show=${(/** @type {Collection} */ collection) => html`<${Calls} key=${collection.name} project=${project} collection=${collection} />`} />`;
}

/** @param {{ project: string, collection: Collection }} given */
function Calls({ project, collection }) {
  const [language, choose] = useState("curl");
  const base = me.value?.deployment.base_url ?? "";
  const download = (/** @type {string} */ part) => new URL(`../admin/v1/${pathOf(project)}/${part}`, document.baseURI).href;
  const target = (/** @type {string} */ kind) => `#/${place.value.path.slice(0, 2).map(encodeURIComponent).join("/")}/${kind}`;
  return html`<main class="main">
    <${Bar} title=${collection.name} tabs=${html`<${CollectionTabs} project=${project} collection=${collection.name} current="api" />`}><${Choice} label="Language" value=${language} choices=${LANGUAGES} choose=${choose} /><//>
    <div class="page"><div class="page-inner stack">
      <p class="soft">The address is <code>${base}</code>. A server sends a <a href=${target("keys")}>secret key</a>; a page or an app sends the publishable key, and its user's token, and may do what the rules allow.</p>
      ${callsOf(collection, base, language).map(({ title, code }) => html`<section class="card" key=${title} aria-label=${title}><div class="card-head"><h2>${title}</h2><span class="push" /><${Copy} text=${code} name=${title} /></div>
        <div class="card-body"><pre class="code" tabindex="0" role="group" aria-label=${`${title} as code`}>${code}</pre></div></section>`)}
      ${allows(project, "schema") && html`<section class="card" aria-labelledby="files"><div class="card-head"><h2 id="files">Types and documents</h2></div><div class="card-body stack-small">
        <p class="soft">They are made of the schemas and rules as they are now.</p>
        <div class="row"><a class="button" href=${download("types?language=typescript")} download="schema.ts"><${Icon} name="download" />TypeScript</a><a class="button" href=${download("types?language=python")} download="schema.py"><${Icon} name="download" />Python</a>
          <a class="button" href=${download("openapi.json")} download="openapi.json"><${Icon} name="download" />OpenAPI</a></div></div></section>`}
    </div></div></main>`;
}
