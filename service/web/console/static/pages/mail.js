/** Mail of a project: what became of each, the server with a test, the texts, and the mails that were not sent. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { link } from "../app/router.js";
import { allows, me } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number, Time } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { Alert, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { MailTexts } from "../parts/mail-texts.js";
import { SaveBar, SettingList } from "../parts/setting-list.js";
import { useSettings } from "../parts/settings.js";
import { Empty, Loaded } from "../parts/states.js";
import { Tabs } from "../parts/tabs.js";
import { Trial } from "../parts/trial.js";

const STATUSES = /** @type {Record<string, string>} */ ({ sent: "badge-good", failed: "badge-bad", queued: "badge-accent", kept: "" });
const MOST = 200;

/** @param {{ project: string, parts: Record<string, string> }} given */
export default function Mail({ project, parts }) {
  const settings = useSettings(project);
  const tab = parts.tab ?? "";
  const mayWrite = allows(project, "config", "write");
  const texts = { "": "Outbox", server: "Server", texts: "Texts", ...(mayWrite ? { mailbox: "Mailbox" } : {}) };
  const tabs = Object.entries(texts).map(([key, text]) => ({ text, target: link(["projects", project, "mail", ...(key ? [key] : [])]), isCurrent: key === tab }));
  return html`<main class="main"><${Bar} title="Mail"><//><div class="bar toolbar"><${Tabs} label="Mail" tabs=${tabs} /></div>
    <div class="page"><div class="page-inner">
      ${tab === "" && html`<${Outbox} project=${project} mayWrite=${mayWrite} />`}
      ${tab === "server" && html`<${Loaded} loading=${settings.loading}><${SettingList} settings=${settings} names=${["SMTP_URL", "MAIL_FROM"]} mayWrite=${mayWrite} />
        ${mayWrite && html`<${Test} project=${project} />`}<//>`}
      ${tab === "texts" && html`<${Loaded} loading=${settings.loading}><${MailTexts} settings=${settings} project=${project} mayWrite=${mayWrite} /><//>`}
      ${tab === "mailbox" && html`<${Mailbox} project=${project} />`}
    </div></div>${(tab === "server" || tab === "texts") && html`<${SaveBar} settings=${settings} />`}</main>`;
}

/** @param {{ project: string, mayWrite: boolean }} given */
function Outbox({ project, mayWrite }) {
  const path = `projects/${encodeURIComponent(project)}/auth-collections/mails`;
  const [limit, setLimit] = useState(50);
  const loading = useLoading((signal) => call(path, { query: { limit }, signal }), [project, limit]);
  const { act, notice } = useAction(loading.reload);
  const page = loading.data;
  return html`${notice}<${Loaded} loading=${loading}>${page?.mails.length === 0 && html`<${Empty} icon="mail" title="No mails yet">
      <p>${me.value?.deployment.has_smtp ? "A mail stands here from its request on." : "Without a mail server, mails are kept and stand in the mailbox."}</p><//>`}
    ${page?.mails.length > 0 && html`<p class="soft">${number(page.total)} ${page.total === 1 ? "mail" : "mails"}. The address of a sent mail is erased.</p>
      <div class="table-box" tabindex="0" role="region" aria-label="Mails"><table class="table"><thead><tr><th>To</th><th>Kind</th><th>Status</th><th class="number">Attempts</th><th>Time</th><th><span class="unseen">Actions</span></th></tr></thead>
      <tbody>${page.mails.map((/** @type {any} */ mail) => html`<tr key=${mail.id}><td dir="auto">${mail.to ?? html`<span class="none">erased</span>`}</td><td>${mail.kind.replaceAll("_", " ")}</td>
        <td><span class=${`badge ${STATUSES[mail.status]}`}>${mail.status}</span></td><td class="number">${number(mail.attempts)}</td><td><${Time} at=${mail.created_at} /></td>
        <td class="number">${mayWrite && mail.status !== "sent" && html`<button class="button button-small" aria-label=${`Retry the mail to ${mail.to}`} onClick=${() => act(() => call(`${path}/${mail.id}/retry`, { method: "POST" }))}>Retry</button>`}</td></tr>`)}</tbody></table></div>
      ${page.total > page.mails.length && (limit < MOST ? html`<p class="more"><button class="button" onClick=${() => setLimit(MOST)}>Show more</button></p>` : html`<p class="more soft">The newest ${MOST} are shown.</p>`)}`}<//>`;
}

/** @param {{ project: string }} given */
function Test({ project }) {
  const [outcome, show] = useState(/** @type {import("../parts/trial.js").Outcome | null} */ (null));
  const form = useForm({ to: me.value?.operator.email ?? "" }, async (body) => {
    show(null);
    show(await call(`projects/${encodeURIComponent(project)}/smtp-test`, { method: "POST", body }));
  });
  return html`<section class="card settings" aria-labelledby="test"><div class="card-head"><h2 id="test">Test</h2></div><form class="card-body stack" onSubmit=${form.submit}><${Alert} form=${form} />
      <p class="soft">Sends one mail by the server that is saved, within 10 seconds.</p><${Field} form=${form} name="to" label="To" type="email" />
      <div><button class="button" aria-disabled=${form.isBusy}><${Icon} name="send" />${form.isBusy ? "Sending" : "Test"}</button></div></form><${Trial} outcome=${outcome} good="The server took the mail" /></section>`;
}

/** The mails that were not sent. To read them needs a confirmation, and leaves an entry in the audit log.
 * @param {{ project: string }} given */
function Mailbox({ project }) {
  const [isOpen, open] = useState(false);
  if (isOpen) return html`<${Messages} project=${project} />`;
  return html`<${Empty} icon="lock-keyhole" title="Mails that were not sent"><p>They have codes and links, which sign users in. Each look leaves an entry in the audit log.</p>
    <button class="button button-primary" onClick=${() => open(true)}>Open the mailbox</button><//>`;
}

/** @param {{ project: string }} given */
function Messages({ project }) {
  const path = `projects/${encodeURIComponent(project)}/mailbox`;
  const [chosen, choose] = useState("");
  const loading = useLoading((signal) => call(path, { signal }), [project]);
  const messages = loading.data?.messages;
  return html`<${Loaded} loading=${loading}>${messages?.length === 0 && html`<${Empty} icon="mail" title="The mailbox is empty"><p>A mail that cannot be sent is kept here until its code is too old.</p><//>`}
    <div class="stack">${messages?.map((/** @type {any} */ each) => html`<section class="card" key=${each.id} aria-label=${each.subject}><div class="card-head"><h2 class="cut" dir="auto">${each.subject}</h2><span class="push" />
        <button class="button button-small" aria-expanded=${chosen === each.id ? "true" : "false"} aria-label=${`Show ${each.subject}`} onClick=${() => choose(chosen === each.id ? "" : each.id)}>${chosen === each.id ? "Hide" : "Show"}</button></div>
      <div class="card-body stack"><dl class="facts"><dt>To</dt><dd dir="auto">${each.to}</dd><dt>Time</dt><dd><${Time} at=${each.created_at} /></dd>
        ${each.code && html`<dt>Code</dt><dd><code>${each.code}</code></dd>`}${each.link && html`<dt>Link</dt><dd><code dir="auto">${each.link}</code></dd>`}</dl>
        ${chosen === each.id && html`<iframe class="mail-frame" sandbox="" title=${each.subject} src=${new URL(`../admin/v1/${path}/${encodeURIComponent(each.id)}/html`, document.baseURI).href} />`}</div></section>`)}</div><//>`;
}
