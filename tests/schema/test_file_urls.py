"""Names in records, URLs in answers."""

from typing import Any

import pytest

from service.schema.file_urls import FileUrls, named_file

NAME = "demo-" + "0" * 32 + ".png"
URLS = FileUrls("https://files.example.com/files/")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (f"https://files.example.com/files/{NAME}", NAME),
        (f"http://files.example.com/files/{NAME}", None),
        (f"https://files.example.com/files/{NAME}?x=1", None),
        (f"https://files.example.com/files/{NAME}\n", None),
        (f"https://files.example.com/files/{NAME}?expires=1&signature=a-_", NAME),
        (f"https://files.example.com/files/{NAME}?expires=x&signature=a", None),
        (f"https://files.example.com/files/{NAME}?expires=1&signature=a&x=1", None),
        (f"https://files.example.com/files/{NAME}?expires=1", None),
        (f"https://files.example.com/files/x/{NAME}", None),
        (f"https://elsewhere.example.com/files/{NAME}", None),
        (NAME, None),
        ("", None),
    ],
)
def test_name(value: str, name: str | None) -> None:
    assert URLS.name(value) == name


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (f"https://elsewhere.example.com/a/files/{NAME}", NAME),
        (f"https://elsewhere.example.com/files/{NAME}?expires=1&signature=a", NAME),
        (f"https://elsewhere.example.com/files/{NAME}?x=1", None),
        (NAME, None),
        (None, None),
        ([NAME], None),
    ],
)
def test_named_file(value: Any, name: str | None) -> None:
    assert named_file(value) == name


@pytest.mark.parametrize(
    ("record", "data"),
    [
        ({"data": {"a": NAME}, "files": {"a": NAME}}, {"a": URLS.prefix + NAME}),
        ({"data": {"a": NAME}, "files": {}}, {"a": NAME}),
        ({"data": {"a": NAME}}, {"a": NAME}),
        ({"data": {"a": "text"}, "files": {"a": NAME}}, {"a": "text"}),
        ({"data": {}, "files": {"a": NAME}}, {}),
    ],
    ids=["a file", "a text like a name", "from before", "written by another program", "removed by another program"],
)
def test_show(record: dict[str, Any], data: dict[str, Any]) -> None:
    assert URLS.show(record) == {"data": data}
