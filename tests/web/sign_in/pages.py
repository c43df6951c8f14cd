"""The pages of a project, as its own developers would write them: one that begins a sign-in, one that ends it."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

START = """<!doctype html><html lang=en><title>Start</title><button id=sign-in>Sign in</button><script>
const here = new URL(location.href), service = here.searchParams.get("service");
sessionStorage.service = service;
document.getElementById("sign-in").onclick = async () => {
  sessionStorage.mine = crypto.randomUUID();
  const query = new URLSearchParams({project_id: here.searchParams.get("project"), client_state: sessionStorage.mine});
  const answer = await fetch(`${service}/auth-collections/login-idp?${query}`);
  location.href = (await answer.json()).url;
};
</script></html>"""

DONE = """<!doctype html><html lang=en><title>Done</title><pre id=result></pre><script>
const query = new URL(location.href).searchParams, token = query.get("svc-super-token");
history.replaceState(null, "", location.pathname);
const show = (result) => document.getElementById("result").textContent = JSON.stringify(result);
const mine = query.get("state") === sessionStorage.mine, kept = query.get("from");
if (token === null) show({mine, kept, error: query.get("svc-error")});
else fetch(`${sessionStorage.service}/auth-collections/user`, {headers: {authorization: `Bearer ${token}`}})
  .then(async (answer) => show({mine, kept, token, status: answer.status, user: await answer.json()}));
</script></html>"""


async def start(_: Request) -> Response:
    return HTMLResponse(START)


async def done(_: Request) -> Response:
    return HTMLResponse(DONE)


def create_pages() -> Starlette:
    return Starlette(routes=[Route("/start", start), Route("/done", done)])
