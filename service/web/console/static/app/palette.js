/** Search over pages and projects, by Ctrl K. */
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../parts/icon.js";
import { call } from "./api.js";
import { html } from "./html.js";
import { DEPLOYMENT_PAGES, linkTo, listed, PROJECT_PAGES } from "./pages.js";
import { go, link } from "./router.js";

/** @typedef {{ text: string, side: string, icon: string, target: string }} Item */

export const palette = signal(false);

/** @param {string} project @returns {Item[]} */
function listPages(project) {
  const pages = listed([...(project ? PROJECT_PAGES : []), ...DEPLOYMENT_PAGES], project);
  return pages.map((page) => ({
    text: page.title, side: page.path[0] === "projects" ? project : "", icon: page.icon, target: linkTo(page, project),
  }));
}

/** @param {{ project: string }} given */
export function Palette({ project }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const [projects, setProjects] = useState(/** @type {Item[]} */ ([]));
  const close = () => {
    palette.value = false;
  };
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  useEffect(() => {
    const aborter = new AbortController();
    call("projects", { query: { q: text, limit: 8 }, signal: aborter.signal }).then(
      // A search that the next letter aborted has no answer.
      (page) => page && setProjects(page.projects.map((/** @type {any} */ each) => ({
        text: each.name, side: each.id, icon: "database", target: link(["projects", each.id]) }))),
      () => undefined,
    );
    return () => aborter.abort();
  }, [text]);
  const pages = listPages(project).filter((each) => each.text.toLowerCase().includes(text.toLowerCase()));
  const items = [...pages, ...projects];
  const open = (/** @type {Item | undefined} */ item) => {
    if (!item) return;
    close();
    go(item.target);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && items.length) setActive((active + step + items.length) % items.length);
    else if (event.key === "Enter") open(items[active]);
    else return;
    event.preventDefault();
  };
  return html`<dialog class="palette" ref=${dialog} aria-label="Search" onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); close(); }}>
    <div class="palette-search"><${Icon} name="search" />
      <input role="combobox" aria-label="Search" aria-expanded="true" aria-controls="found" aria-activedescendant=${items.length ? `found-${active}` : null}
        placeholder="Pages and projects" autocomplete="off" value=${text} onKeyDown=${press}
        onInput=${(/** @type {InputEvent} */ event) => { setText(/** @type {HTMLInputElement} */ (event.currentTarget).value); setActive(0); }} />
      <kbd class="kbd">Esc</kbd></div>
    <div class="palette-list" role="listbox" id="found" aria-label="Found">
      ${items.map((item, index) => html`<div key=${item.target} id=${`found-${index}`} role="option" class="menu-item" aria-selected=${index === active ? "true" : "false"}
        onClick=${() => open(item)}><${Icon} name=${item.icon} /><span class="cut" dir="auto">${item.text}</span><span class="push faint small">${item.side}</span></div>`)}
    </div>
    ${items.length === 0 && html`<p class="empty soft">Nothing matches.</p>`}
    <div class="palette-foot"><span class="row"><kbd class="kbd">↑</kbd><kbd class="kbd">↓</kbd> move</span><span class="row"><kbd class="kbd">Enter</kbd> open</span></div>
  </dialog>`;
}
