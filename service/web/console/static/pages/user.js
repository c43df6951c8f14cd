/** One user: the profile, what signs in, the sessions, the events, and what an operator may do about them. */
import { useState } from "preact/hooks";
import { announce } from "../app/announcements.js";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { go, link } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { addressOf, hasNames, initials, number, Time } from "../app/texts.js";
import { shortText } from "../grid/columns.js";
import { useAction } from "../parts/action.js";
import { Question } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { Copy } from "../parts/secret.js";
import { Loaded } from "../parts/states.js";
import { ActAs, EditUser, MakeLink, SetPassword } from "../parts/user-dialogs.js";

const EVENTS = 20;
// Only a file of this service: any text may stand in a profile.
const PICTURE = /^https?:\/\/[^?#]+\/files\/[^/?#]+\.(png|jpe?g|gif|webp|svg)$/;

/** @param {{ project: string, parts: { user?: string } }} given */
export default function User({ project, parts }) {
  return html`<${Account} key=${parts.user} project=${project} id=${parts.user ?? ""} />`;
}

/** @param {{ project: string, id: string }} given */
function Account({ project, id }) {
  const path = `${pathOf(project)}/auth-collections/users/${encodeURIComponent(id)}`;
  const [opened, open] = useState("");
  const loading = useLoading(async (signal) => {
    const [user, { sessions }, { events, total }, { settings }] = await Promise.all([call(path, { signal }), call(`${path}/sessions`, { signal }),
      call(`${pathOf(project)}/auth-collections/events`, { query: { user_id: id, limit: EVENTS }, signal }), call(`${pathOf(project)}/settings`, { signal })]);
    return { settings, user, sessions, events, total };
  }, [path]);
  const { act, notice } = useAction(() => { announce("Done"); loading.reload(); });
  const found = loading.data;
  const user = found?.user;
  const mayWrite = allows(project, "users", "write");
  const close = () => open("");
  const done = () => { close(); loading.reload(); };
  const name = shortText(user?.data.name) || (user && addressOf(user)) || "User";
  const picture = Object.values(user?.data ?? {}).find((value) => typeof value === "string" && PICTURE.test(value) && URL.parse(value)?.origin === location.origin);
  const change = (/** @type {object} */ body) => act(() => call(path, { method: "PATCH", body }));
  return html`<main class="main"><${Bar} title=${name} tabs=${html`<a class="faint wide" href=${link(["projects", project, "users"])}>All users</a>`}>
      ${user && mayWrite && html`${user.email && html`<button class="button wide" onClick=${() => open("link")}><${Icon} name="link" />Make a link</button>`}
        <button class="button" onClick=${() => open("act")}><${Icon} name="venetian-mask" />Act as…</button>`}<//>
    <div class="page"><div class="page-inner">${notice}<${Loaded} loading=${loading}>${user && html`
      <div class="person">${picture ? html`<img class="avatar avatar-large" src=${picture} alt="" />` : html`<span class="avatar avatar-large avatar-word" aria-hidden="true">${initials(name)}</span>`}<div class="listing-text">
        <div class="row"><h2 class="cut" dir="auto">${name}</h2><span class=${`badge ${user.disabled ? "badge-warn" : "badge-good"}`}>${user.disabled ? "disabled" : "active"}</span>
          ${(user.roles ?? []).map((/** @type {string} */ role) => html`<span class="badge" key=${role}>${role}</span>`)}</div>
        <p class="row soft"><span dir="auto">${addressOf(user)}</span>${user.email_verified && html`<span class="row good"><${Icon} name="badge-check" small />proven</span>`}<code class="id">${user.id}</code><${Copy} text=${user.id} name="the id" /></p></div></div>
      <div class="columns"><div class="stack"><${Profile} user=${user} edit=${mayWrite ? () => open("edit") : null} />
          <${SignIn} user=${user} isNamed=${hasNames(found.settings)} mayWrite=${mayWrite} open=${open} change=${change} />
          <${Sessions} sessions=${found.sessions} end=${mayWrite ? () => open("sessions") : null} /></div>
        <${Events} events=${found.events} total=${found.total} /></div>`}<//></div></div>
    ${opened === "edit" && html`<${EditUser} path=${path} user=${user} close=${close} done=${done} />`}
    ${opened === "password" && html`<${SetPassword} path=${path} close=${close} done=${done} />`}
    ${opened === "link" && html`<${MakeLink} path=${path} close=${close} />`}
    ${opened === "act" && html`<${ActAs} project=${project} user=${user} close=${close} done=${done} />`}
    ${opened === "sessions" && html`<${Question} title="End all sessions" action="End sessions" close=${close} act=${() => act(() => call(`${path}/sessions`, { method: "DELETE" }))}><p>The user is signed out everywhere, and can sign in again.</p><//>`}
    ${opened === "factors" && html`<${Question} title="Remove the second factors" action="Remove" close=${close} act=${() => act(() => call(`${path}/factors`, { method: "DELETE" }))}><p>The password alone signs in then. The recovery codes are void, and the user is notified by mail.</p><//>`}
    ${opened === "delete" && html`<${Question} title=${`Delete ${name}`} action="Delete" close=${close} act=${() => act(async () => { await call(path, { method: "DELETE" }); go(link(["projects", project, "users"])); })}>
      <p>The account, its sessions and the files of its profile go. Documents that name its id stay.</p><//>`}
  </main>`;
}

/** @param {{ user: any, edit: (() => void) | null }} given */
function Profile({ user, edit }) {
  const rows = [...Object.entries(user.data), ["claims", user.claims], ["created", user.created_at], ["last sign-in", user.last_sign_in_at]];
  const show = (/** @type {string} */ name, /** @type {any} */ value) => {
    if (name === "created" || name === "last sign-in") return html`<${Time} at=${value} />`;
    return Array.isArray(value) ? `${number(value.length)} values` : typeof value === "object" ? html`<code>${shortText(value)}</code>` : shortText(value);
  };
  return html`<section class="card" aria-labelledby="profile"><div class="card-head"><h2 id="profile">Profile</h2>${edit && html`<button class="link-button push" onClick=${edit}>Edit</button>`}</div>
    <div class="card-body"><dl class="facts facts-spaced">${rows.map(([name, value]) => html`<dt class="cut" dir="auto" key=${name}>${name}</dt><dd dir="auto">${show(name, value)}</dd>`)}</dl></div></section>`;
}

/** @param {{ user: any, isNamed: boolean, mayWrite: boolean, open: (dialog: string) => void, change: (body: object) => void }} given */
function SignIn({ user, isNamed, mayWrite, open, change }) {
  return html`<section class="card card-list" aria-labelledby="sign-in"><div class="card-head"><h2 id="sign-in">Sign-in</h2></div>
    <div class="listing"><${Icon} name="lock-keyhole" /><div>Password<p>Another one ends the sessions.</p></div>${mayWrite && html`<button class="button push" onClick=${() => open("password")}>Set password</button>`}</div>
    <div class="listing"><${Icon} name="smartphone" /><div>Second factors<p>Apps, passkeys and recovery codes.</p></div>${mayWrite && html`<button class="button push" onClick=${() => open("factors")}>Remove factors</button>`}</div>
    ${isNamed && html`<div class="listing"><${Icon} name="user" /><div>User name<p dir="auto">${shortText(user.data.username) || "none"}</p></div>${mayWrite && html`<button class="button push" aria-label="Edit the user name" onClick=${() => open("edit")}>Edit</button>`}</div>`}
    ${user.email && html`<div class="listing"><${Icon} name="mail" /><div>Address<p>${user.email_verified ? "proven" : "not proven"}</p></div>${mayWrite && html`<button class="button push" onClick=${() => change({ email_verified: !user.email_verified })}>${user.email_verified ? "Mark as not proven" : "Mark as proven"}</button>`}</div>`}
    ${mayWrite && html`<div class="listing"><${Icon} name="ban" /><div>Account<p>${user.disabled ? "It may not sign in." : "It may sign in."}</p></div><span class="row push"><button class="button" onClick=${() => change({ disabled: !user.disabled })}>${user.disabled ? "Enable" : "Disable"}</button>
      <button class="button button-quiet is-danger" onClick=${() => open("delete")}>Delete user</button></span></div>`}</section>`;
}

/** @param {{ sessions: any[], end: (() => void) | null }} given */
function Sessions({ sessions, end }) {
  return html`<section class="card card-list" aria-labelledby="sessions"><div class="card-head"><h2 id="sessions">Sessions</h2>${end && sessions.length > 0 && html`<button class="link-button bad push" onClick=${end}>End all</button>`}</div>
    ${!sessions.length && html`<p class="listing soft">None. The user is signed in nowhere.</p>`}
    ${sessions.map((each) => html`<div class="listing" key=${each.id}><${Icon} name=${each.actor === "operator" ? "venetian-mask" : "monitor"} /><div class="listing-text"><span dir="auto">${each.user_agent || (each.actor === "operator" ? "An operator, acting" : "Unknown program")}</span>
      <p>${each.ip ? `${each.ip}, ` : ""}used <${Time} at=${each.last_used_at ?? each.created_at} /></p></div></div>`)}</section>`;
}

/** @param {{ events: any[], total: number }} given */
function Events({ events, total }) {
  return html`<section class="card" aria-labelledby="events"><div class="card-head"><h2 id="events">Events</h2><span class="push faint small">${number(total)}</span></div><div class="card-body">
    ${!events.length && html`<p class="soft">None yet.</p>`}
    <ol class="timeline plain-list">${events.map((each) => html`<li key=${each.id}><${Icon} name="history" small /><span class="cut" title=${JSON.stringify(each.detail ?? {})}>${each.type.replaceAll("_", " ")}${each.actor !== "user" && html`<span class="faint"> by ${each.actor}</span>`}</span><${Time} at=${each.at} day /></li>`)}</ol></div></section>`;
}
