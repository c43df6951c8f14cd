/** The keys of every page. Single keys can be switched off (WCAG 2.1.4). */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { DEPLOYMENT_PAGES } from "./pages.js";
import { palette } from "./palette.js";
import { go, link } from "./router.js";

const SEQUENCE_MS = 1_500;
export const hasSingleKeys = signal(localStorage.getItem("keys") !== "off");

/** @param {boolean} isOn */
export function setSingleKeys(isOn) {
  hasSingleKeys.value = isOn;
  localStorage.setItem("keys", isOn ? "on" : "off");
}

/** @param {EventTarget | null} target @returns {boolean} */
const takesText = (target) => target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

export function useKeys() {
  useEffect(() => {
    let begun = 0;
    const press = (/** @type {KeyboardEvent} */ event) => {
      if (document.querySelector("dialog[open]")) return;
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        palette.value = true;
      } else if (hasSingleKeys.value && !takesText(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
        const isSecond = Date.now() - begun < SEQUENCE_MS;
        begun = event.key === "g" ? Date.now() : 0;
        pressSingle(event, isSecond);
      }
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, []);
}

/** @param {KeyboardEvent} event @param {boolean} isSecond After a `g`. */
function pressSingle(event, isSecond) {
  const page = isSecond && DEPLOYMENT_PAGES.find(({ key, isOpen }) => key === event.key && (!isOpen || isOpen("*")));
  if (page) return go(link(page.path));
  if (event.key === "?") go("#/me?keys=on");
  const filter = event.key === "/" && /** @type {HTMLInputElement | null} */ (document.querySelector("[data-filter]"));
  if (!filter) return;
  event.preventDefault();
  filter.focus();
}
