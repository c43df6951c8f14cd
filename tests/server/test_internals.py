"""The functions of uvicorn that the service uses are compared with the installed ones, one by one."""

from service.server.internals import USED, find_changes


def test_this_uvicorn_is_the_one_that_the_server_fits() -> None:
    assert find_changes(USED) == []


def test_a_function_that_changed_is_named_with_its_parameters() -> None:
    def moved(self: object, data: bytes) -> None: ...

    assert find_changes({moved: "self"}) == [f"{moved.__qualname__} has the parameters (self data), not (self)"]
