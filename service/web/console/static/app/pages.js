/** The pages, by their paths. `:` begins a part that names something. A link stands only to what is here. */
import { allows } from "./session.js";

/** @typedef {{ path: string[], title: string, icon: string, key?: string, load: () => Promise<{ default: any }>,
 *   isOpen?: (project: string) => boolean, group?: string }} Page */

/** @type {Page[]} Those of the deployment. */
export const DEPLOYMENT_PAGES = [
  { path: [], title: "Projects", icon: "layout-grid", key: "p", load: () => import("../pages/projects.js") },
  { path: ["operators"], title: "Operators", icon: "user-cog", key: "o", load: () => import("../pages/operators.js"), isOpen: () => allows("*", "deployment") },
  { path: ["me"], title: "My account", icon: "user", key: "m", load: () => import("../pages/me.js") },
];

/** @type {Page[]} Those of one project. */
export const PROJECT_PAGES = [
  { path: ["projects", ":project"], title: "Overview", icon: "layout-dashboard", load: () => import("../pages/project.js") },
  { path: ["projects", ":project", "keys"], title: "Keys", icon: "key-round", group: "Access", load: () => import("../pages/keys.js"), isOpen: (project) => allows(project, "config") },
];

/** @param {string[]} path @returns {{ page: Page, project: string } | null} */
export function findPage(path) {
  const page = [...DEPLOYMENT_PAGES, ...PROJECT_PAGES].find(
    (each) => each.path.length === path.length && each.path.every((part, index) => part.startsWith(":") || part === path[index]),
  );
  return page ? { page, project: path[0] === "projects" ? (path[1] ?? "") : "" } : null;
}
