"""Files of documents as they are read: rows F3, F8 and F9 as for users."""

from typing import Any

import httpx2

from faults.samples import FORM_TYPE, SCRIPTED_SVG, data_part, file_part, form, picture, png, stored
from service.bounds import MAX_FIELD_FILES, MAX_FILES
from tests.conftest import BASE_URL, Api
from tests.declared import declare
from tests.web.files.ranges import LENGTH, RANGES

DOCUMENTS = "/api/collections/scans/documents"
SCHEMA: dict[str, Any] = {
    "scan": {"type": "file"},
    "secret": {"type": "file", "protected": True},
    "pages": {"type": "array", "items": {"type": "file"}},
}
# The name as it was sent, and what is offered.
NAMES = [
    ("../../x.png", 'inline; filename="x.png"'),
    ("a.svg.png", 'inline; filename="a.svg.png"'),
    ("a\u202egnp.png", 'inline; filename="agnp.png"'),
]


async def create(api: Api, *parts: bytes) -> dict[str, Any]:
    answer = await api.request("POST", DOCUMENTS, content=form(data_part({}), *parts), headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["data"])


async def test_f9_ranges_of_the_files_of_documents(api: Api) -> None:
    await declare(api, SCHEMA, "scans")
    content = png(LENGTH)
    data = await create(api, file_part("scan", content=content), file_part("secret", content=content))
    for url in (data["scan"], data["secret"]):
        for field, status, content_range in RANGES:
            answer = await api.http.get(url.removeprefix(BASE_URL), headers={"range": field})
            assert (answer.status_code, answer.headers.get("content-range")) == (status, content_range)
            if status == 206:
                first, last = (content_range or "").removeprefix("bytes ").partition("/")[0].split("-")
                assert answer.content == content[int(first) : int(last) + 1]
            elif status == 416:
                assert answer.json()["code"] == "range_not_satisfiable"
            else:
                assert answer.content == content
    assert (await api.http.get(data["secret"].removeprefix(BASE_URL).partition("?")[0])).status_code == 404


async def test_f8_what_can_run_in_a_document_is_sandboxed_and_offered_as_a_download(api: Api) -> None:
    await declare(api, SCHEMA, "scans")
    data = await create(api, file_part("scan", "a.svg", SCRIPTED_SVG), file_part("secret", "a.pdf", picture("PDF")))
    for url, media_type, name in (
        (data["scan"], "image/svg+xml", "a.svg"),
        (data["secret"], "application/pdf", "a.pdf"),
    ):
        answer = await api.http.get(url.removeprefix(BASE_URL))
        assert answer.headers["content-type"] == media_type
        assert "sandbox" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'


async def test_f3_names_of_the_files_of_documents_are_kept_but_never_used(api: Api) -> None:
    await declare(api, SCHEMA, "scans")
    data = await create(api, *(file_part("pages", name) for name, _ in NAMES))
    for url, (_, disposition) in zip(data["pages"], NAMES, strict=True):
        assert url.startswith(f"{BASE_URL}/files/{api.project.id}-")
        assert url.endswith(".png")
        answer = await api.http.get(url.removeprefix(BASE_URL))
        assert answer.headers["content-disposition"] == disposition


async def test_a_field_holds_so_many_files_and_no_more(api: Api) -> None:
    await declare(api, SCHEMA, "scans")
    answer = await api.request("POST", DOCUMENTS, json={"data": {}})
    path = f"{DOCUMENTS}/{answer.json()['id']}"

    async def add(count: int, kept: list[str]) -> httpx2.Response:
        parts = [data_part({"pages": kept}), *[file_part("pages")] * count]
        return await api.request("PATCH", path, content=form(*parts), headers=FORM_TYPE)

    kept: list[str] = []
    for _ in range(MAX_FIELD_FILES // MAX_FILES):
        answer = await add(MAX_FILES, kept)
        assert answer.status_code == 200, answer.text
        kept = answer.json()["data"]["pages"]
    assert len(set(kept)) == MAX_FIELD_FILES
    before = stored(api.database)
    for refused in (await add(1, kept), await api.request("PATCH", path, json={"push": {"pages": kept[0]}})):
        (error,) = refused.json()["detail"]
        assert (refused.status_code, error["type"]) == (422, "too_many_files")
        assert (error["loc"], error["msg"]) == (["body", "data", "pages"], "A field may hold 100 files")
    assert stored(api.database) == before
    # One that has more, from before there was a bound, keeps them and can lose some.
    api.database["c_scans"].update_one(
        {}, {"$set": {"data.pages": [name.rpartition("/")[2] for name in [*kept, *kept]]}}
    )
    assert (await add(1, [*kept, *kept])).status_code == 422
    assert (await api.request("PATCH", path, json={"data": {"pages": [*kept, kept[0]]}})).status_code == 200
    assert (await api.request("PATCH", path, json={"data": {"pages": kept[:3]}})).status_code == 200
    assert stored(api.database)["files.files"] == 3
