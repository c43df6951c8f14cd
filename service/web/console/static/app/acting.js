/** Acting as a user: a bar across the console until the time is over, the token, and data as the user sees it. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../parts/icon.js";
import { Copy } from "../parts/secret.js";
import { later } from "../parts/later.js";
import { announce } from "./announcements.js";
import { call } from "./api.js";
import { html } from "./html.js";
import { addressOf } from "./texts.js";

/** @typedef {{ project: string, user: any, token: string, sid: string, until: number }} Acting */

const acting = signal(/** @type {Acting | null} */ (null));
const SeenAs = later(() => import("../parts/seen-as.js"), "SeenAs");

/** @param {string} project @param {any} answer */
export function beginActing(project, { access_token, expires_in, sid, user }) {
  acting.value = { project, user, token: access_token, sid, until: Date.now() + expires_in * 1000 };
}

export function ActingBar() {
  const [now, tick] = useState(Date.now());
  const [isSeen, see] = useState(false);
  const held = acting.value;
  useEffect(() => {
    if (!held) return undefined;
    const timer = setInterval(() => {
      tick(Date.now());
      if (Date.now() > held.until) acting.value = null;
    }, 1000);
    return () => clearInterval(timer);
  }, [held]);
  if (!held) return null;
  const left = Math.max(0, Math.ceil((held.until - now) / 1000));
  const stop = () => call(`projects/${encodeURIComponent(held.project)}/users/${encodeURIComponent(held.user.id)}/act-as/${encodeURIComponent(held.sid)}`, { method: "DELETE" }).then(
    () => { acting.value = null; }, (error) => (error.status === 404 ? (acting.value = null) : announce(error.message)));
  return html`<div class="acting" role="region" aria-label="Acting as a user"><${Icon} name="venetian-mask" /><span class="cut">You act as <b dir="auto">${addressOf(held.user)}</b> in ${held.project}</span>
    <span class="number" aria-hidden="true">${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}</span><span class="push" />
    <button class="button button-small" onClick=${() => see(true)}>See data</button><${Copy} text=${held.token} name="the token" /><button class="button button-small" onClick=${stop}>Stop</button>
    ${isSeen && html`<${SeenAs} acting=${held} close=${() => see(false)} />`}</div>`;
}
