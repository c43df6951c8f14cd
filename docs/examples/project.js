// What each of these pages does alike: it asks where the project is and who somebody is, and sends requests for them. A page knows
// the publishable key alone; what may be read and written is decided by the rules of the project.

export const byId = (id) => document.getElementById(id);

const given = new URL(location.href).searchParams;
const withoutSlash = (url) => url.replace(/\/+$/, "");
export const settings = {service: withoutSlash(given.get("service") ?? ""), key: given.get("key") ?? ""};
export const isConnected = () => Boolean(settings.service && settings.key);

let show = () => {}, place = "";

// Begins the page of that name. `shown` draws it, and is called again for whoever has connected, signed in or signed out.
export function begin(name, shown) {
  place = `${name}.signed-in`;
  show = () => {
    byId("email-shown").textContent = signedIn()?.email ?? "";
    byId("service-shown").textContent = settings.service;
    shown();
  };
  show();
}

// The token is kept for this tab, and for the service that gave it: another one never sees it.
export function signedIn() {
  const kept = JSON.parse(sessionStorage.getItem(place) ?? "null");
  return kept && kept.service === settings.service && kept.key === settings.key ? kept : null;
}

export function signOut() {
  sessionStorage.removeItem(place);
  show();
}

export async function ask(method, path, body) {
  const token = signedIn()?.token, headers = {"x-api-key": settings.key};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(settings.service + path, {method, headers, body: body && JSON.stringify(body)});
  } catch {
    throw new Error("The service does not answer this page. Does it run, and does CORS_ORIGINS name " + location.origin + "?");
  }
  const said = answer.status === 204 ? null : await answer.json();
  if (answer.ok) return said;
  if (answer.status === 401 && token) signOut();
  throw new Error(typeof said.detail === "string" ? said.detail : said.detail.map((each) => `${each.loc.at(-1)}: ${each.msg}`).join("; "));
}

// Runs one action at a time for a form or an item, and shows what went wrong.
export async function trying(within, action) {
  const buttons = [...within.querySelectorAll("button")].filter((button) => !button.disabled);
  byId("problem").textContent = "";
  buttons.forEach((button) => button.disabled = true);
  try { await action(); }
  catch (problem) { byId("problem").textContent = problem.message; }
  finally { buttons.forEach((button) => button.disabled = false); }
}

// Does `action` for a form, which is empty when that is done.
export function submitting(form, action) {
  form.onsubmit = (event) => {
    event.preventDefault();
    trying(form, async () => {
      await action(event.submitter);
      form.reset();
    });
  };
}

byId("connect").onsubmit = (event) => {
  event.preventDefault();
  const form = event.target;
  settings.service = withoutSlash(form.service.value);
  settings.key = form.key.value.trim();
  history.replaceState(null, "", "?" + new URLSearchParams(settings));
  show();
};

submitting(byId("enter"), async (button) => {
  const form = byId("enter"), email = form.email.value, password = form.password.value;
  const {access_token, user} = await ask("POST", `/auth-collections/${button?.value ?? "login"}`, {email, password});
  sessionStorage.setItem(place, JSON.stringify({...settings, token: access_token, email: user.email}));
  show();
});

byId("sign-out").onclick = signOut;
