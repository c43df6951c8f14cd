/** The forms of saved charts: how each is drawn, with which values it is tried, and whether the overview shows it. They are
 * views, whose state the service does not check: a state that cannot be read here is as absent. */
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { allows } from "../app/session.js";
import { KINDS } from "./chart.js";

/** @typedef {{ id: string, of: string, own: boolean, shared: boolean, state: any }} View */
/** @typedef {{ chart: string, samples: Record<string, string>, isPinned: boolean }} Form `chart` is empty where none was chosen. */

/** @param {string} project @param {AbortSignal} signal @returns {Promise<Map<string, View>>} By the names of aggregations; one's own before a shared one. */
export async function readForms(project, signal) {
  const { views } = await call(`${pathOf(project)}/views`, { query: { kind: "chart" }, signal });
  return new Map(views.toSorted((/** @type {View} */ one, /** @type {View} */ other) => Number(one.own) - Number(other.own)).map((/** @type {View} */ view) => [view.of, view]));
}

/** @param {View | undefined} view @returns {Form} */
export function readForm(view) {
  const { chart, samples, pinned } = view?.state ?? {};
  const texts = samples && typeof samples === "object" ? Object.entries(samples).filter(([, value]) => typeof value === "string") : [];
  return { chart: Object.hasOwn(KINDS, chart) ? chart : "", samples: Object.fromEntries(texts), isPinned: pinned === true };
}

/** @param {string} project @param {string} name Of the aggregation. @param {View | undefined} view @param {Form} form @returns {Promise<View>} */
export function keepForm(project, name, view, { chart, samples, isPinned }) {
  const state = { chart, samples, pinned: isPinned };
  const shared = allows(project, "data", "write");
  const path = `${pathOf(project)}/views`;
  if (view && (shared || !view.shared)) return call(`${path}/${view.id}`, { method: "PATCH", body: { state } });
  return call(path, { method: "POST", body: { kind: "chart", of: name, name, state, shared } });
}
