"""Variants of images over HTTP: those that are declared, made once, and gone with their image."""

import asyncio
import io
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2
import pytest
from PIL import Image

from faults.samples import FORM_TYPE, SVG, data_part, file_part, form, picture, stored
from service.domain.collections.catalog import Catalogs
from service.domain.files import variants
from service.domain.files.signed_urls import FileLink
from service.domain.files.variants import FileVariants
from service.errors import FileNotFound
from service.images.process import ImageProcess
from service.services import Services
from service.storage.files.variants import take_turn, variant_name
from tests.conftest import BASE_URL, Api
from tests.declared import declare, violations

PHOTOS = "/api/collections/photos/documents"
RASTER = ["png", "jpg", "gif", "webp"]
THUMB = {"width": 16, "height": 16, "fit": "cover"}
SCHEMA: dict[str, Any] = {
    "image": {"type": "file", "types": RASTER, "variants": {"thumb": THUMB, "wide": {"width": 12, "format": "jpeg"}}},
    "secret": {"type": "file", "types": RASTER, "protected": True, "variants": {"thumb": THUMB, "wide": {"width": 12}}},
    "album": {"type": "array", "items": {"type": "file", "types": RASTER, "variants": {"thumb": THUMB}}},
    "paper": {"type": "file"},
}


@pytest.fixture
async def photos(api: Api) -> Api:
    await declare(api, SCHEMA, "photos")
    return api


async def create(api: Api, *parts: bytes) -> dict[str, Any]:
    body = form(data_part({}), *(parts or [file_part("image")]))
    answer = await api.request("POST", PHOTOS, content=body, headers=FORM_TYPE)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def get(api: Api, url: str, variant: str = "thumb", method: str = "GET", **headers: str) -> httpx2.Response:
    path = url.removeprefix(BASE_URL)
    more = f"{'&' if '?' in path else '?'}variant={variant}" if variant else ""
    return await api.http.request(method, path + more, headers=headers)


@pytest.fixture
def drawings(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, Any]]:
    """The variants drawn in this process."""
    found: list[Mapping[str, Any]] = []

    draw = ImageProcess.draw

    async def counted(
        self: ImageProcess, content: AsyncIterator[bytes], length: int, wanted: Mapping[str, Any]
    ) -> bytes:
        found.append(wanted)
        return await draw(self, content, length, wanted)

    monkeypatch.setattr(ImageProcess, "draw", counted)
    return found


async def test_a_variant_is_made_once(photos: Api, drawings: list[Any]) -> None:
    url = (await create(photos))["data"]["image"]
    answer = await get(photos, url)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    assert Image.open(io.BytesIO(answer.content)).size == (16, 10)
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert answer.headers["content-disposition"] == 'inline; filename="me.webp"'
    etag = answer.headers["etag"]
    assert (await get(photos, url, **{"if-none-match": etag})).status_code == 304
    part = await get(photos, url, range="bytes=0-3")
    assert (part.status_code, part.content) == (206, answer.content[:4])
    assert (await get(photos, url, method="HEAD")).headers["content-length"] == str(len(answer.content))
    wide = await get(photos, url, "wide")
    assert (wide.headers["content-type"], Image.open(io.BytesIO(wide.content)).size) == ("image/jpeg", (12, 6))
    assert len(drawings) == 2
    assert photos.database["uploads"].count_documents({}) == 0


async def test_100_first_requests_draw_once(photos: Api, services: Services, drawings: list[Any]) -> None:
    """Half of them to another worker."""
    url = (await create(photos))["data"]["image"]
    other, name = FileVariants(services.files, Catalogs()), url.rpartition("/")[2]
    asked = [get(photos, url) for _ in range(50)]
    also = [other.find_readable(name, FileLink(variant="thumb")) for _ in range(50)]
    answers, found = await asyncio.gather(asyncio.gather(*asked), asyncio.gather(*also))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len({file.name for file, _ in found}) == 1
    assert len(drawings) == 1


async def test_20_variants_at_once_are_all_answered(photos: Api, drawings: list[Any]) -> None:
    documents = [await create(photos, *([file_part("album")] * 10)) for _ in range(2)]
    urls = [url for document in documents for url in document["data"]["album"]]
    answers = await asyncio.gather(*(get(photos, url) for url in urls))
    assert [answer.status_code for answer in answers] == [200] * 20
    assert len(drawings) == 20


async def test_who_waited_long_is_told_to_come_again(photos: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """And finds what was made meanwhile."""
    url, go_on, draw = (await create(photos))["data"]["image"], asyncio.Event(), ImageProcess.draw

    async def slow(self: ImageProcess, content: AsyncIterator[bytes], *rest: Any) -> bytes:
        await go_on.wait()
        return await draw(self, content, *rest)

    monkeypatch.setattr(ImageProcess, "draw", slow)
    monkeypatch.setattr(variants, "ANSWER_SECONDS", 0.01)
    answer = await get(photos, url)
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (503, "busy", "1")
    assert answer.json()["detail"] == "The variant is being made, or waits for others; try again"
    go_on.set()
    monkeypatch.setattr(variants, "ANSWER_SECONDS", 30.0)
    assert (await get(photos, url)).status_code == 200


@pytest.mark.parametrize("variant", ["no", "Thumb", "..", "%00"])
async def test_a_variant_that_is_not_declared(photos: Api, variant: str) -> None:
    url = (await create(photos))["data"]["image"]
    assert (await get(photos, url, variant)).status_code in {404, 422}


async def test_a_variant_without_a_name_is_refused(photos: Api) -> None:
    """A bare URL and a signed one, an image and any other file."""
    data = (await create(photos, file_part("image"), file_part("secret"), file_part("paper", "a.svg", SVG)))["data"]
    for field in ("image", "secret", "paper"):
        url = data[field].removeprefix(BASE_URL)
        answer = await photos.http.get(f"{url}{'&' if '?' in url else '?'}variant=")
        assert violations(answer) == [("query", "variant", "missing")]
        assert (await photos.http.get(url)).status_code == 200


async def test_what_has_no_variants(photos: Api) -> None:
    data = (await create(photos, file_part("paper", "a.svg", SVG)))["data"]
    assert (await get(photos, data["paper"])).status_code == 404
    body = form(data_part({"email": "ann@example.com", "password": "correct horse"}), file_part("image"))
    user = await photos.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
    assert (await get(photos, user.json()["user"]["data"]["image"])).status_code == 404
    assert (await get(photos, f"/files/{photos.project.id}-{'0' * 32}.png")).status_code == 404


@pytest.mark.parametrize("kind", ["a bomb", "a broken image"])
async def test_what_cannot_be_decoded(photos: Api, drawings: list[Any], kind: str) -> None:
    content = picture("PNG", (7_000, 6_000)) if kind == "a bomb" else picture()[:-40]
    url = (await create(photos, file_part("image", content=content)))["data"]["image"]
    for _ in range(2):
        answer = await get(photos, url)
        (error,) = answer.json()["detail"]
        assert (answer.status_code, error["loc"]) == (422, ["query", "variant"])
        assert error["type"] == "variant_not_possible"
        assert error["msg"] == "The file is no image of at most 40,000,000 pixels that can be decoded"
    assert len(drawings) == 1
    assert (await get(photos, url, "")).content == content


async def test_variants_go_with_their_image(photos: Api) -> None:
    document = await create(photos, file_part("image"), file_part("album"), file_part("album"))
    data = document["data"]
    for url in (data["image"], *data["album"]):
        assert (await get(photos, url)).status_code == 200
    assert stored(photos.database)["files.files"] == 6
    await photos.request("PATCH", f"{PHOTOS}/{document['id']}", json={"pull": {"album": data["album"][0]}})
    assert stored(photos.database)["files.files"] == 4
    assert (await get(photos, data["album"][0])).status_code == 404
    await photos.request("DELETE", "/api/collections/photos")
    assert stored(photos.database) == {}


async def test_an_image_that_is_removed_meanwhile_gets_no_variant(photos: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    document = await create(photos)

    async def remove_it(_self: ImageProcess, content: AsyncIterator[bytes], *_: Any) -> bytes:
        await content.__anext__()
        await photos.request("DELETE", f"{PHOTOS}/{document['id']}")
        return b"drawn"

    monkeypatch.setattr(ImageProcess, "draw", remove_it)
    assert (await get(photos, document["data"]["image"])).status_code == 404
    assert stored(photos.database) == {}


async def test_another_definition_is_another_variant(photos: Api, drawings: list[Any]) -> None:
    url = (await create(photos))["data"]["image"]
    first = await get(photos, url)
    image = {**SCHEMA["image"], "variants": {"thumb": {"width": 5}}}
    await photos.request("PATCH", "/api/collections/photos", json={"schema": {"image": image}})
    assert Image.open(io.BytesIO((await get(photos, url)).content)).width == 5
    assert (await get(photos, url)).headers["etag"] != first.headers["etag"]
    assert len(drawings) == 2


async def test_a_maker_that_died_is_followed_by_another(
    photos: Api, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await create(photos)
    name = document["data"]["image"].rpartition("/")[2]
    wanted = {"width": 16, "height": 16, "fit": "cover", "format": "webp"}
    database = photos.project.database
    assert await take_turn(database, variant_name(name, wanted)) is not None
    assert await take_turn(database, variant_name(name, wanted)) is None
    photos.database["uploads"].update_one({}, [{"$set": {"touched": {"$subtract": ["$$NOW", 61_000]}}}])
    assert (await get(photos, document["data"]["image"])).status_code == 200
    assert photos.database["uploads"].count_documents({}) == 0


class TestProtected:
    async def test_x14_the_link_of_the_image_opens_every_variant(self, photos: Api) -> None:
        url = (await create(photos, file_part("secret")))["data"]["secret"]
        for variant in ("thumb", "wide"):
            answer = await get(photos, url, variant)
            assert (answer.status_code, answer.headers["cache-control"][:7]) == (200, "private")
            assert (await get(photos, url.partition("?")[0], variant)).status_code == 404
        assert (await get(photos, url[:-1] + ("A" if url[-1] != "A" else "B"))).status_code == 404

    async def test_x14_a_link_of_a_variant_opens_only_that(self, photos: Api) -> None:
        url = (await create(photos, file_part("secret")))["data"]["secret"].partition("?")[0]
        asked = f"{url}?variant=thumb"
        answer = await photos.request("POST", "/api/files/sign", json={"urls": [asked], "expires_in": 60})
        link = answer.json()["urls"][asked]
        assert (await get(photos, link, "")).status_code == 200
        other = link.removesuffix("&variant=thumb")
        assert (await get(photos, other, "")).status_code == 404
        assert (await get(photos, other, "wide")).status_code == 404

    async def test_a_variant_that_is_not_declared_is_not_signed(self, photos: Api) -> None:
        url = (await create(photos, file_part("secret")))["data"]["secret"].partition("?")[0]
        body = {"urls": [f"{url}?variant=no"], "expires_in": 60}
        assert (await photos.request("POST", "/api/files/sign", json=body)).status_code == 404


async def test_a_variant_is_not_asked_for_by_its_own_name(photos: Api, services: Services) -> None:
    await get(photos, (await create(photos))["data"]["image"])
    kept = photos.database["files.files"].find_one({"_id": {"$regex": "~"}})
    assert kept is not None
    with pytest.raises(FileNotFound):
        await services.files.find(kept["_id"])


BAD_VARIANTS: list[tuple[dict[str, Any], list[str], str]] = [
    ({"types": RASTER, "variants": {}}, [], "dict_type"),
    ({"types": RASTER, "variants": []}, [], "dict_type"),
    ({"types": RASTER, "variants": {str(n): THUMB for n in range(11)}}, [], "dict_type"),
    ({"variants": {"thumb": THUMB}}, [], "value_error"),
    ({"types": ["png", "svg"], "variants": {"thumb": THUMB}}, [], "value_error"),
    ({"types": "png", "variants": {"thumb": THUMB}}, [], "value_error"),
    ({"types": RASTER, "variants": {"A b": THUMB}}, ["A b"], "value_error"),
    ({"types": RASTER, "variants": {"thumb": 160}}, ["thumb"], "dict_type"),
    ({"types": RASTER, "variants": {"thumb": {"fit": "cover"}}}, ["thumb", "width"], "missing"),
    ({"types": RASTER, "variants": {"thumb": {"width": 0}}}, ["thumb", "width"], "value_error"),
    ({"types": RASTER, "variants": {"thumb": {"height": 4_097}}}, ["thumb", "height"], "value_error"),
    ({"types": RASTER, "variants": {"thumb": {"width": 1, "fit": "fill"}}}, ["thumb", "fit"], "value_error"),
    ({"types": RASTER, "variants": {"thumb": {"width": 1, "format": "png"}}}, ["thumb", "format"], "value_error"),
    ({"types": RASTER, "variants": {"thumb": {"width": 1, "x": 1}}}, ["thumb", "x"], "extra_forbidden"),
]


@pytest.mark.parametrize(("options", "place", "type_"), BAD_VARIANTS)
async def test_a_bad_definition(api: Api, options: dict[str, Any], place: list[str], type_: str) -> None:
    body = {"name": "bad", "schema": {"image": {"type": "file", **options}}}
    answer = await api.request("POST", "/api/collections", json=body)
    errors = {tuple(error["loc"]): error["type"] for error in answer.json()["detail"]}
    assert answer.status_code == 422
    assert errors["body", "schema", "image", "variants", *place] == type_
