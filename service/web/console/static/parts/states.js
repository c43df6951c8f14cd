/** The states of what is loaded: nothing for a moment, a skeleton, still working, an error, and nothing here. */
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../app/api.js";
import { html } from "../app/html.js";
import { Copy } from "./secret.js";
import { Icon } from "./icon.js";

/** @param {{ loading: import("../app/loading.js").Loading<any>, children?: unknown }} given `children` show the data. */
export function Loaded({ loading, children }) {
  const { data, error, waits } = loading;
  return html`<div class="loaded" aria-busy=${waits && data === undefined ? "true" : null}>
    ${error && html`<${Failure} error=${error} loading=${loading} />`}
    ${data !== undefined ? children : !error && html`<${Waiting} loading=${loading} />`}
  </div>`;
}

/** @param {{ loading: import("../app/loading.js").Loading<any> }} given */
function Waiting({ loading }) {
  if (loading.waits === "loading" || !loading.waits) return null;
  return html`<div class="stack skeletons">
    <div class="skeleton skeleton-short" /><div class="skeleton" /><div class="skeleton skeleton-long" /><div class="skeleton" />
    ${loading.waits === "still" && html`<p class="row soft" role="status">Still working.
      <button class="button button-small" type="button" onClick=${loading.cancel}>Cancel</button></p>`}
  </div>`;
}

/** @param {{ error: Error, loading: import("../app/loading.js").Loading<any> }} given */
function Failure({ error, loading }) {
  const known = error instanceof ApiError ? error : null;
  const again = html`<button class="button button-small" type="button" onClick=${loading.reload}>Try again</button>`;
  if (known?.status === 403)
    return html`<${Empty} icon="shield" title="This needs another role">
      <p>${known.message}</p>${known.needs && html`<p>The missing permission is <code>${known.needs}</code>. An owner can give it.</p>`}
    <//>`;
  if (known?.status === 404)
    return html`<${Empty} icon="circle-help" title="There is nothing here">
      <p>It was deleted, or you have no role in it.</p><a class="button" href="#/">All projects</a>
    <//>`;
  return html`<div class="banner banner-bad" role="alert"><${Icon} name=${known?.status === 0 ? "wifi-off" : "circle-alert"} />
    <span>${error.message} <${Countdown} until=${loading.retryAt} /></span><span class="push" />
    ${known?.requestId && html`<span class="small faint">Request <code>${known.requestId}</code></span><${Copy} text=${known.requestId} name="the request's id" />`}
    ${again}</div>`;
}

/** @param {{ until: number }} given A time in milliseconds; 0 for none. */
function Countdown({ until }) {
  const [now, tick] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.ceil((until - now) / 1000);
  return seconds > 0 ? html`<span aria-hidden="true">Next try in ${seconds} s.</span>` : null;
}

/** @param {{ icon: string, title: string, children?: unknown }} given */
export function Empty({ icon, title, children }) {
  return html`<div class="empty"><span class="empty-picture"><${Icon} name=${icon} /></span><h2>${title}</h2>${children}</div>`;
}
