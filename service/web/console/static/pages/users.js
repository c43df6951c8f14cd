/** The users of a project: the same grid as that of documents, and a dialog that makes one. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { go, link, place, replace } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { addressOf, hasNames, number } from "../app/texts.js";
import { makeColumn, queryName } from "../grid/columns.js";
import { FilterChips } from "../grid/filter.js";
import { Grid } from "../grid/grid.js";
import { readWhere, writeWhere } from "../grid/query.js";
import { SortSelect } from "../grid/toolbar.js";
import { useRows } from "../grid/use-rows.js";
import { Dialog } from "../parts/dialog.js";
import { Alert, Check, DialogFoot, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Empty, Loaded } from "../parts/states.js";

const PROFILE_COLUMNS = 3;
const EMAIL = makeColumn({ path: "email", kind: "email", width: 232, read: addressOf });
const NAME = makeColumn({ path: "username", title: "user name", kind: "string", width: 150, read: (row) => row.data.username });
const ACCOUNT = [
  makeColumn({ path: "roles", kind: "roles", width: 140, read: (row) => row.roles?.join(", ") }),
  makeColumn({ path: "email_verified", title: "verified", kind: "boolean", read: (row) => row.email_verified }),
  makeColumn({ path: "disabled", kind: "boolean", read: (row) => row.disabled }),
  makeColumn({ path: "last_sign_in_at", title: "last sign-in", kind: "datetime", read: (row) => row.last_sign_in_at }),
  makeColumn({ path: "created_at", title: "created", kind: "datetime", read: (row) => row.created_at }),
];
const FIELDS = [{ path: "email", kind: "string" }, { path: "roles", kind: "reference" }, { path: "disabled", kind: "boolean" }, { path: "email_verified", kind: "boolean" },
  { path: "identities.provider", kind: "reference" }, { path: "last_sign_in_at", kind: "datetime" }, { path: "created_at", kind: "datetime" }, { path: "id", kind: "id" }];

/** The fields of profiles that the first users have: profiles have no schema.
 * @param {any[]} users @returns {import("../grid/columns.js").Column[]} */
function profileColumns(users) {
  const names = [...new Set(users.flatMap(({ data }) => Object.keys(data).filter((name) => ["string", "number", "boolean"].includes(typeof data[name]))))];
  return names.slice(0, PROFILE_COLUMNS).map((name) => makeColumn({ path: queryName(name), title: name, kind: "string", width: 150, read: (row) => row.data[name] }));
}

/** @param {{ project: string }} given */
export default function Users({ project }) {
  const { query } = place.value;
  const state = { q: query.get("q") ?? "", where: query.get("where") ?? "", sort: query.get("sort") ?? "-created_at" };
  const write = (/** @type {Partial<typeof state>} */ change) => {
    const next = { ...state, ...change };
    return link(["projects", project, "users"], { ...next, sort: next.sort === "-created_at" ? "" : next.sort });
  };
  const { where: chosen, isBad } = readWhere(state.where);
  const settings = useLoading((signal) => call(`${pathOf(project)}/settings`, { signal }), [project]).data?.settings ?? {};
  const sought = hasNames(settings) ? { or: [{ email_icontains: state.q }, { username_icontains: state.q }] } : { email_icontains: state.q };
  const where = state.q ? { and: [sought, ...(Object.keys(chosen).length ? [chosen] : [])] } : chosen;
  const path = `${pathOf(project)}/auth-collections/users`;
  const [isMaking, make] = useState(false);
  const [selected, select] = useState(/** @type {Map<string, any>} */ (new Map()));
  const { loading, rows, turn } = useRows(`${path}/query`, "users", { where, sort_by: [state.sort], count: "none" }, []);
  const counting = useLoading((signal) => call(`${path}/query`, { method: "POST", isRead: true, signal, body: { where, limit: 1, count: Object.keys(where).length ? "capped" : "estimated" } }), [path, JSON.stringify(where)]);
  const total = counting.data && (counting.data.total_is === "at_least" ? "10,000+" : number(counting.data.total));
  const profile = profileColumns(rows?.pages[0]?.items ?? []);
  const columns = [EMAIL, ...(hasNames(settings) ? [NAME, ...profile.filter((each) => each.path !== NAME.path)] : profile), ...ACCOUNT];
  const sortable = new Set(["created_at", NAME.path, ...profile.map((each) => each.path)]);
  const order = (/** @type {string} */ column) => sortable.has(column) && go(write({ sort: state.sort === column ? `-${column}` : column }));
  const search = hasNames(settings) ? "Search by address or user name" : "Search by address";
  const button = allows(project, "users", "write") && html`<button class="button button-primary" onClick=${() => make(true)}><${Icon} name="plus" />New user</button>`;
  return html`<main class="main"><${Bar} title="Users" count=${total ?? ""}>${button}<//>
    <div class="bar toolbar" role="toolbar" aria-label="Search, filter, sort"><label class="filter"><${Icon} name="search" small /><input class="input input-small" data-filter value=${state.q} placeholder=${search} aria-label=${search} maxlength="200"
        onInput=${(/** @type {InputEvent} */ event) => replace(write({ q: /** @type {HTMLInputElement} */ (event.currentTarget).value }))} /></label>
      <${FilterChips} where=${chosen} fields=${[...FIELDS, ...profile]} change=${(/** @type {object} */ next) => go(write({ where: writeWhere(next) }))} />
      <div class="row push"><${SortSelect} columns=${columns.filter((each) => sortable.has(each.path))} sort=${state.sort} change=${(/** @type {string} */ sort) => go(write({ sort }))} /></div></div>
    ${isBad && html`<p class="banner banner-warn" role="alert"><${Icon} name="triangle-alert" />The filter of this address cannot be read. All users are shown.</p>`}
    <div class="split"><div class="grid-side">
      ${rows && rows.known > 0 ? html`<${Grid} key=${JSON.stringify([where, state.sort])} label="Users" columns=${columns} rows=${rows} turn=${turn} sort=${state.sort} order=${order} opened="" selected=${selected} select=${select}
          open=${(/** @type {any} */ row) => row && go(link(["projects", project, "users", row.id]))} save=${null} remove=${null} />
        <footer class="bar-foot"><span>${number(rows.known)} ${rows.next ? "loaded" : rows.known === 1 ? "user" : "users"}</span>
          ${(rows.error || loading.error) && html`<span class="bad" role="alert">${(rows.error ?? loading.error)?.message} <button class="link-button" onClick=${() => (rows.error ? rows.retry() : loading.reload())}>Try again</button></span>`}</footer>`
        : html`<div class="page"><${Loaded} loading=${loading}>${rows && (state.q || state.where ? html`<${Empty} icon="search" title="Nothing matches"><p>No user satisfies the search.</p>
            <button class="button" onClick=${() => go(write({ q: "", where: "" }))}>Clear the search</button><//>`
          : html`<${Empty} icon="users" title="No users yet"><p>People who sign up stand here.</p>${button}<pre class="code" tabindex="0" role="group" aria-label="The same as a command">${`curl "$URL/auth-collections/signup" -H "x-api-key: $PUBLISHABLE_KEY" \\\n  -H "content-type: application/json" \\\n  -d '{"email": "ann@example.com", "password": "correct horse"}'`}</pre><//>`)}<//></div>`}
    </div></div>
    ${isMaking && html`<${NewUser} path=${path} project=${project} names=${settings.USERNAMES} close=${() => make(false)} />`}
  </main>`;
}

/** @param {{ path: string, project: string, names: string | undefined, close: () => void }} given `names` is the setting USERNAMES. */
function NewUser({ path, project, names, close }) {
  const form = useForm({ email: "", username: "", password: "", email_verified: "false", invite: "false" }, async ({ email, username, password, email_verified, invite }) => {
    const body = { email, ...(username ? { data: { username } } : {}), ...(password ? { password } : {}), email_verified: email_verified === "true", invite: invite === "true" };
    const made = await call(path, { method: "POST", body });
    close();
    go(link(["projects", project, "users", made.id]));
  });
  return html`<${Dialog} title="New user" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <${Field} form=${form} name="email" label="Email" type="email" autofocus />
    ${hasNames({ USERNAMES: names }) && html`<${Field} form=${form} name="username" label="User name" required=${names === "required"} hint="It signs in as the address does." />`}
    <${Field} form=${form} name="password" label="Password" type="password" autocomplete="new-password" required=${false} hint="Without one the user signs in in another way." />
    <${Check} form=${form} name="email_verified" label="The address is proven" />
    <${Check} form=${form} name="invite" label="Mail an invitation" hint="It lets the user choose a password, for seven days." />
    </div><${DialogFoot} form=${form} action="Create user" close=${close} /></form><//>`;
}
