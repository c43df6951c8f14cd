"""The lists of slow tests name files and folders that are there."""

from tests.rings import FIRST, HERE, LONG


def test_each_slow_file_is_there() -> None:
    assert [name for name in FIRST + LONG if not (HERE / name).exists()] == []
