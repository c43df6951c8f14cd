"""Every call of the two libraries stands in the table of calls, or in a test that is named here."""

import json
import re

import pytest

from auth_collections_client import AsyncClient
from tests.served.clients.table import CALLS, CLIENTS

SOURCE = CLIENTS / "typescript/src"
TESTS = (*CLIENTS.parent.glob("tests/served/clients/**/*.py"), *CLIENTS.glob("typescript/test/*.js"))
# The interfaces of the TypeScript client, and the parts of a client that they type.
INTERFACES = {
    "accounts": {"AuthCalls": "auth", "UserCalls": "users", "Client": "client"},
    "schema": {"Collection": "c"},
}
METHOD, CALL = (re.compile(rf"^{indent}(\w+)[<(]", re.MULTILINE) for indent in ("  ", "    "))
GROUP = re.compile(r"^  (\w+): \{\n(.*?)^  \}", re.MULTILINE | re.DOTALL)
# Calls that no entry of the table makes, and a test that does.
ELSEWHERE = {
    "auth.on_change": "test_k8_a_listener_may_call_and_may_fail",
    "client.aclose": "test_k21_the_end_of_a_client_ends_its_socket_and_its_readers",
    "client.close": "test_k21_the_end_of_a_client_ends_its_socket_and_its_readers",
    "client.collection": "test_a_document_lives_from_its_creation_to_its_end",
    "client.live": "test_a_window_follows_its_query",
    "client.with_token": "K13 clients of two users in one process send their own tokens",
}
# The end of a client and its live lists are spelled as each language has it.
ONE_LANGUAGE = {"client.close": "typescript", "client.aclose": "python", "client.live": "python"}


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower()


def typescript() -> set[str]:
    found = set()
    for file, interfaces in INTERFACES.items():
        text = (SOURCE / f"{file}.ts").read_text()
        for interface, part in interfaces.items():
            body = re.search(rf"^export interface {interface}<.*?\{{\n(.*?)^\}}", text, re.MULTILINE | re.DOTALL)
            assert body is not None
            found |= {f"{part}.{snake(name)}" for name in METHOD.findall(body[1])}
            for group, calls in GROUP.findall(body[1]):
                found |= {f"{part}.{snake(group)}_{snake(name)}" for name in CALL.findall(calls)}
    return found | {f"admin.{name}" for name in administration()}


def administration() -> set[str]:
    """The calls of `admin`, whose groups are objects."""
    found, group = set(), ""
    for line in (SOURCE / "admin.ts").read_text().partition("  return {\n")[2].splitlines():
        if opened := re.match(r"^    (\w+): \{$", line):
            group = f"{opened[1]}."
        elif call := re.match(r"^    (\w+): \(", line):
            found.add(call[1])
        elif call := re.match(r"^      (\w+): \(", line):
            found.add(group + snake(call[1]))
    return found


def python() -> set[str]:
    client = AsyncClient("http://127.0.0.1:9", "ac_shop_key")
    groups = {f"admin.{name}": part for name, part in vars(client.admin).items() if not name.startswith("_")}
    parts = {"auth": client.auth, "users": client.users, "c": client.collection("books"), "client": client, **groups}
    parts["admin"] = client.admin
    return {
        f"{part}.{name}"
        for part, owner in parts.items()
        for name in dir(owner)
        if not name.startswith("_") and callable(getattr(owner, name)) and f"{part}.{name}" not in groups
    }


def called() -> set[str]:
    """The calls of the table. Each collection is one."""
    calls = [entry["call"].split(".") for entry in json.loads(CALLS.read_text())["calls"]]
    known = {"auth", "users", "client", "admin", "live", "verify"}
    return {".".join([part if part in known else "c", *rest]) for part, *rest in calls}


def test_the_libraries_have_one_surface() -> None:
    only = dict.fromkeys(typescript() - python(), "typescript") | dict.fromkeys(python() - typescript(), "python")
    assert only == ONE_LANGUAGE


def test_every_call_stands_in_the_table_or_in_a_test() -> None:
    assert sorted((typescript() | python()) - called()) == sorted(ELSEWHERE)


@pytest.mark.parametrize("name", sorted(set(ELSEWHERE.values())))
def test_the_tests_elsewhere_are_there(name: str) -> None:
    assert any(re.search(rf"(?:def |^test\(\"){re.escape(name)}", path.read_text(), re.MULTILINE) for path in TESTS)
