"""The libraries are those that the service's replacements and overrides were written for."""

import os
import subprocess
import sys

import multipart
import pytest
from multipart import PushMultipartParser

from service.fast import SWITCHES, driver, router
from service.fast.guard import Attributes, Parameters, find_changes
from service.server import internals

FORM = b'--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n{}\r\n--b--\r\n'


@pytest.mark.parametrize(
    ("parameters", "attributes"),
    [
        pytest.param(driver.PARAMETERS, driver.ATTRIBUTES, id="pymongo"),
        pytest.param(router.PARAMETERS, router.ATTRIBUTES, id="starlette"),
        pytest.param(internals.USED, internals.ATTRIBUTES, id="uvicorn"),
    ],
)
def test_the_library_is_the_one_that_the_service_fits(parameters: Parameters, attributes: Attributes) -> None:
    assert find_changes(parameters, attributes) == []


def test_a_function_that_changed_is_named_with_its_parameters() -> None:
    def moved(self: object, data: bytes) -> None: ...

    assert find_changes({moved: "self"}, {}) == [f"{moved.__qualname__} has the parameters (self data), not (self)"]


def test_an_attribute_that_is_gone_is_named() -> None:
    class Cycle:
        kind = "http"

        def __init__(self) -> None:
            self.keep_alive = True

    assert find_changes({}, {Cycle: "kind keep_alive"}) == []
    assert find_changes({}, {Cycle: "kind disconnected expected"}) == [
        f"{Cycle.__qualname__} has no disconnected, expected"
    ]


def test_the_parser_of_forms_says_where_it_is() -> None:
    """`web/http/multipart` stops reading there."""
    parser = PushMultipartParser("b", strict=True)
    assert list(parser.parse(FORM[:-4]))
    assert parser._state is not multipart._COMPLETE  # noqa: SLF001
    list(parser.parse(FORM[-4:]))
    assert parser._state is multipart._COMPLETE  # noqa: SLF001


def test_the_driver_is_replaced() -> None:
    assert driver.IS_USED


PROGRAM = """
import service.app
import pymongo.asynchronous.pool as pool
from service.fast.write_buffer import MANY_BYTES
app = service.app.from_environment()
stack = app.build_middleware_stack()
print(pool.async_sendall.__module__, MANY_BYTES, type(stack.app.app).__name__)
"""


@pytest.mark.parametrize("switch", ["", *SWITCHES, "unknown"])
def test_a_replacement_is_left_out_where_its_switch_is_named(switch: str) -> None:
    variables = {"MONGODB_URI": "mongodb://127.0.0.1:1", "SECRET_KEY": f"{'A' * 43}=", "WITHOUT_FAST": switch}
    environment, command = {"PATH": os.environ["PATH"], **variables}, [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    if switch == "unknown":
        assert "WITHOUT_FAST names unknown; it takes driver, router, transport" in ended.stderr
        return
    module, many, dispatch = ended.stdout.split()
    assert {
        "driver": module != "service.fast.driver",
        "transport": many == "0",
        "router": dispatch != "RouteDispatch",
    } == {each: each == switch for each in SWITCHES}
