// What each of these pages does alike: it asks where the project is and who somebody is, and makes the client of that project. A page
// knows the publishable key alone; what may be read and written is decided by the rules of the project.
import {createClient} from "./client/index.js";

export const byId = (id) => document.getElementById(id);

const given = new URL(location.href).searchParams;
const settings = {service: given.get("service"), key: given.get("key")};
// The client, and the user who is signed in: null where there is none.
export let ac = null, user = null;

let show = () => {};

// Begins the page. `shown` draws it, and is called again for whoever has connected, signed in or signed out, here or in another tab.
export function begin(shown) {
  show = shown;
  trying(byId("connect"), connect);
}

async function connect() {
  if (settings.service && settings.key) {
    ac = createClient({url: settings.service, key: settings.key});
    ac.auth.onChange((event) => event.startsWith("signed") && trying(byId("who"), changeUser));
    byId("service-shown").textContent = settings.service;
  }
  await changeUser();
}

async function changeUser() {
  user = null;
  try {
    user = ac && await ac.auth.session() && await ac.auth.user();
  } finally {
    byId("email-shown").textContent = user?.email ?? "";
    show();
  }
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
      await action(form, event.submitter);
      form.reset();
    });
  };
}

submitting(byId("connect"), (form) => {
  settings.service = form.service.value.replace(/\/+$/, "");
  settings.key = form.key.value.trim();
  history.replaceState(null, "", "?" + new URLSearchParams(settings));
  return connect();
});

submitting(byId("enter"), async (form, button) => {
  const email = form.email.value, password = form.password.value;
  const {next} = await (button?.value === "signup" ? ac.auth.signup({email, password}) : ac.auth.login(email, password));
  if (next) throw new Error("This account needs one more step, which the page sign-in/ has.");
});

byId("sign-out").onclick = () => trying(byId("who"), () => ac.auth.logout());
