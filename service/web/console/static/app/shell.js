/** The frame around every page: sidebar, bar, the page itself, and the keys. */
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon, Logo } from "../parts/icon.js";
import { later } from "../parts/later.js";
import { Empty } from "../parts/states.js";
import { ActingBar } from "./acting.js";
import { Announcements } from "./announcements.js";
import { CollectionLinks, making } from "./collections.js";
import { html } from "./html.js";
import { useKeys } from "./keys.js";
import { Palette, palette } from "./palette.js";
import { DEPLOYMENT_PAGES, findPage, linkTo, listed, PROJECT_PAGES } from "./pages.js";
import { place } from "./router.js";
import { allows, me } from "./session.js";
import { initials } from "./texts.js";

const MakeCollection = later(() => import("../parts/new-collection.js"), "MakeCollection");

export function Shell() {
  const { path } = place.value;
  const found = findPage(path);
  const project = found?.project ?? "";
  useKeys();
  return html`<div class="shell"><${ActingBar} />
    <${Sidebar} project=${project} current=${found?.page} />
    <${Shown} found=${found} />
    <${Announcements} />
    ${palette.value && html`<${Palette} project=${project} />`}
    ${making.value && project && html`<${MakeCollection} project=${project} />`}
  </div>`;
}

/** The page; the one before stays until the next one's files are there.
 * @param {{ found: ReturnType<typeof findPage> }} given */
function Shown({ found }) {
  const [shown, show] = useState(/** @type {{ View: any, project: string, page: any } | null} */ (null));
  const parts = useRef({});
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    found?.page.load().then(
      (module) => isCurrent && show({ View: module.default, project: found.project, page: found.page }),
      () => setGone(true),
    );
    return () => {
      isCurrent = false;
    };
  }, [found?.page, found?.project]);
  useEffect(() => {
    document.title = `${found ? (found.parts.collection ?? found.page.title) : "Not found"}${found?.project ? ` · ${found.project}` : ""} · Auth Collections`;
  }, [found?.page, found?.project, found?.parts.collection]);
  if (isGone) return html`<${Updated} />`;
  if (!found)
    return html`<main class="main"><${Bar} title="Not found" /><div class="page"><${Empty} icon="circle-help" title="There is no such page">
      <a class="button" href="#/">All projects</a><//></div></main>`;
  if (!shown) return html`<main class="main" aria-busy="true"><${Bar} title=${found.page.title} /></main>`;
  if (shown.page === found.page) parts.current = found.parts;
  return html`<${shown.View} key=${shown.project} project=${shown.project} parts=${parts.current} />`;
}

/** After an update the files of this page are gone. It loads itself again, once. */
function Updated() {
  useEffect(() => {
    if (history.state?.reloaded) return;
    history.replaceState({ reloaded: true }, "");
    location.reload();
  }, []);
  return html`<main class="main"><${Bar} title="Updated" /><div class="page"><${Empty} icon="rotate-cw" title="The console was updated">
    <button class="button button-primary" onClick=${() => location.reload()}>Load it again</button><//></div></main>`;
}

/** The head of a page. @param {{ title: string, count?: string, tabs?: unknown, children?: unknown }} given */
export function Bar({ title, count = "", tabs = null, children }) {
  return html`<header class="bar">
    <button class="button button-quiet button-icon narrow" popovertarget="sidebar" aria-label="Menu"><${Icon} name="menu" /></button>
    <h1 class="cut" dir="auto">${title}</h1><span class="bar-count">${count}</span>${tabs}<div class="row push">${children}</div>
  </header>`;
}

/** @param {{ project: string, current: import("./pages.js").Page | undefined }} given */
function Sidebar({ project, current }) {
  const operator = me.value?.operator;
  const pages = listed(project ? PROJECT_PAGES : DEPLOYMENT_PAGES, project);
  const isShown = (/** @type {import("./pages.js").Page} */ page) =>
    page === current || (page.title === current?.within && !current.path.includes(":collection"));
  const hide = () => document.getElementById("sidebar")?.hidePopover();
  return html`<nav class="sidebar" id="sidebar" popover="auto" aria-label="Console">
    <a class="sidebar-project" href="#/" onClick=${hide}><${Logo} /><span class="cut">${project || "Auth Collections"}</span></a>
    <button class="sidebar-search" onClick=${() => { hide(); palette.value = true; }}><${Icon} name="search" small /><span>Search</span>
      <span class="push row"><kbd class="kbd">Ctrl K</kbd></span></button>
    <div class="sidebar-nav">${pages.map((page, index) => html`<${Fragment} key=${page.title}>
      ${page.group && page.group !== pages[index - 1]?.group && html`<p class="sidebar-label">${page.group}</p>`}
      <a class="sidebar-link" onClick=${hide} href=${linkTo(page, project)} aria-current=${isShown(page) ? "page" : null}>
        <${Icon} name=${page.icon} />${page.title}</a>
      ${page.title === "Data" && allows(project, "schema", "write") && html`<button class="sidebar-add" aria-label="Add a collection" onClick=${() => { hide(); making.value = "new"; }}><${Icon} name="plus" small /></button>`}
      ${page.title === "Data" && html`<${CollectionLinks} project=${project} hide=${hide} />`}<//>`)}
      ${project && html`<a class="sidebar-link" href="#/" onClick=${hide}><${Icon} name="layout-grid" />All projects</a>`}</div>
    <div class="sidebar-foot">
      <span class="avatar avatar-medium avatar-word" aria-hidden="true">${initials(operator?.name ?? "")}</span>
      <a class="sidebar-foot-name cut" href="#/me" onClick=${hide} dir="auto">${operator?.name}</a>
      <button class="button button-quiet button-small button-icon push" aria-label="Light or dark" onClick=${switchTheme}><${Icon} name="sun-moon" /></button>
    </div>
  </nav>`;
}

function switchTheme() {
  const { dataset } = document.documentElement;
  const isDark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = isDark ? "light" : "dark";
  localStorage.setItem("theme", dataset.theme);
}
