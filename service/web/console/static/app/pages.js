/** The pages, by their paths. `:name` names something, `:name?` may be absent. A link stands only to what is here. */
import { link } from "./router.js";
import { allows } from "./session.js";

/** `group` begins a group of the sidebar. `within` is the title of the page that the sidebar shows instead.
 * @typedef {{ path: string[], title: string, icon: string, key?: string, load: () => Promise<{ default: any }>,
 *   isOpen?: (project: string) => boolean, group?: string, within?: string }} Page */

/** @type {Page[]} Those of the deployment. */
export const DEPLOYMENT_PAGES = [
  { path: [], title: "Projects", icon: "layout-grid", key: "p", load: () => import("../pages/projects.js") },
  { path: ["operators"], title: "Operators", icon: "user-cog", key: "o", load: () => import("../pages/operators.js"), isOpen: () => allows("*", "deployment") },
  { path: ["usage"], title: "Usage", icon: "gauge", key: "u", load: () => import("../pages/usage.js"), isOpen: () => allows("*", "deployment") },
  { path: ["backups"], title: "Backups", icon: "archive", key: "b", load: () => import("../pages/backups.js"), isOpen: () => allows("*", "deployment") },
  { path: ["audit"], title: "Audit", icon: "history", key: "a", load: () => import("../pages/audit.js"), isOpen: () => allows("*", "deployment") },
  { path: ["system"], title: "System", icon: "server", key: "s", load: () => import("../pages/system.js"), isOpen: () => allows("*", "deployment") },
  { path: ["me"], title: "My account", icon: "user", key: "m", load: () => import("../pages/me.js") },
];

/** @type {Page[]} Those of one project. */
export const PROJECT_PAGES = [
  { path: ["projects", ":project"], title: "Overview", icon: "layout-dashboard", load: () => import("../pages/project.js") },
  { path: ["projects", ":project", "data"], title: "Data", icon: "database", load: () => import("../pages/data.js"), isOpen: (project) => allows(project, "data") || allows(project, "schema") },
  { path: ["projects", ":project", "data", ":collection"], title: "Documents", icon: "database", within: "Data", load: () => import("../pages/documents.js") },
  { path: ["projects", ":project", "data", ":collection", "schema"], title: "Schema", icon: "table-properties", within: "Data", load: () => import("../pages/schema.js") },
  { path: ["projects", ":project", "data", ":collection", "rules"], title: "Rules", icon: "shield", within: "Data", load: () => import("../pages/rules.js") },
  { path: ["projects", ":project", "data", ":collection", "api"], title: "API", icon: "code-xml", within: "Data", load: () => import("../pages/api.js") },
  { path: ["projects", ":project", "users"], title: "Users", icon: "users", load: () => import("../pages/users.js"), isOpen: (project) => allows(project, "users") },
  { path: ["projects", ":project", "users", ":user"], title: "User", icon: "user", within: "Users", load: () => import("../pages/user.js") },
  { path: ["projects", ":project", "files"], title: "Files", icon: "files", load: () => import("../pages/files.js"), isOpen: (project) => allows(project, "data") },
  { path: ["projects", ":project", "charts"], title: "Charts", icon: "chart-column", load: () => import("../pages/charts.js"), isOpen: (project) => allows(project, "data") },
  { path: ["projects", ":project", "charts", ":chart"], title: "Chart", icon: "chart-column", within: "Charts", load: () => import("../pages/chart.js"), isOpen: (project) => allows(project, "data") },
  { path: ["projects", ":project", "sign-in"], title: "Sign-in", icon: "log-in", group: "Access", load: () => import("../pages/sign-in.js"), isOpen: (project) => allows(project, "config") },
  { path: ["projects", ":project", "mail", ":tab?"], title: "Mail", icon: "mail", group: "Access", load: () => import("../pages/mail.js"), isOpen: (project) => allows(project, "config") },
  { path: ["projects", ":project", "keys"], title: "Keys", icon: "key-round", group: "Access", load: () => import("../pages/keys.js"), isOpen: (project) => allows(project, "config") },
  { path: ["projects", ":project", "logs"], title: "Logs", icon: "scroll-text", group: "Watch", load: () => import("../pages/logs.js"), isOpen: (project) => allows(project, "logs") },
  { path: ["projects", ":project", "usage"], title: "Usage", icon: "gauge", group: "Watch", load: () => import("../pages/usage.js"), isOpen: (project) => allows(project, "logs") },
  { path: ["projects", ":project", "audit"], title: "Audit", icon: "history", group: "Watch", load: () => import("../pages/audit.js"), isOpen: (project) => allows(project, "logs") },
  { path: ["projects", ":project", "backups"], title: "Backups", icon: "archive", group: "Automate", load: () => import("../pages/backups.js"), isOpen: (project) => allows(project, "config") },
  { path: ["projects", ":project", "settings", ":group?"], title: "Settings", icon: "settings", group: "Project", load: () => import("../pages/settings.js"), isOpen: (project) => allows(project, "config") },
];

/** @param {Page} page @param {string} project @returns {string} The link to the page, without its optional parts. */
export const linkTo = (page, project) =>
  link(page.path.filter((part) => !part.endsWith("?")).map((part) => (part === ":project" ? project : part)));

/** @param {string[]} path @returns {{ page: Page, project: string, parts: Record<string, string> } | null}
 *   `parts` are what the path names, by their names. */
export function findPage(path) {
  for (const page of [...DEPLOYMENT_PAGES, ...PROJECT_PAGES]) {
    const parts = match(page.path, path);
    if (parts) return { page, project: parts.project ?? "", parts };
  }
  return null;
}

/** @param {string[]} form @param {string[]} path @returns {Record<string, string> | null} */
function match(form, path) {
  const required = form.filter((part) => !part.endsWith("?")).length;
  if (path.length < required || path.length > form.length) return null;
  if (path.some((part, index) => !form[index]?.startsWith(":") && form[index] !== part)) return null;
  return Object.fromEntries(path.map((part, index) => [form[index]?.replace(/^:|\?$/g, "") ?? "", part]));
}

/** @param {Page[]} pages @param {string} project @returns {Page[]} Those that the sidebar and the palette show. */
export const listed = (pages, project) => pages.filter(({ isOpen, within }) => !within && (!isOpen || isOpen(project || "*")));
