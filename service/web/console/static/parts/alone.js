/** The pages before the console: a card alone on the page. */
import { html } from "../app/html.js";
import { me } from "../app/session.js";
import { Logo } from "./icon.js";

/** @param {{ title: string, lead?: string, children?: unknown }} given */
export function Alone({ title, lead = "", children }) {
  document.title = `${title} · Auth Collections`;
  return html`<main class="alone"><div class="alone-card"><${Logo} /><h1>${title}</h1>${lead && html`<p class="soft">${lead}</p>`}${children}</div>
    <footer class="alone-foot"><span>${location.host}</span><span>Auth Collections ${me.value?.deployment.version}</span></footer></main>`;
}
