"""The number of round trips to MongoDB for a file."""

import pytest

from faults.samples import FORM_TYPE, account, file_part, form, png
from tests.conftest import BASE_URL, Api, CommandRecorder

BATCH = ["update", "insert", "commitTransaction"]


async def signup(api: Api, length: int) -> str:
    body = form(account(), file_part("a", content=png(length)))
    answer = await api.request("POST", "/auth-collections/signup", content=body, headers=FORM_TYPE)
    assert answer.status_code == 201
    return str(answer.json()["user"]["data"]["a"]).removeprefix(BASE_URL)


@pytest.mark.parametrize(("length", "batches"), [(1_000, 0), (3_000_000, 1)], ids=["small", "two batches"])
async def test_an_upload_is_three_round_trips_a_batch(
    api: Api, commands: CommandRecorder, length: int, batches: int
) -> None:
    await api.users()
    commands.commands.clear()
    await signup(api, length)
    last = ["update", "insert", "insert", "commitTransaction"]
    # Its address is looked for when the fields are known; when the file is there, the unique index has the last word.
    # The last one is the session.
    assert commands.names == ["find", *BATCH * batches, *last, "delete", "insert", "commitTransaction", "insert"]


async def test_reading_a_small_file_is_two_round_trips(api: Api, commands: CommandRecorder) -> None:
    url = await signup(api, 1_000)
    etag = (await api.http.get(url)).headers["etag"]
    for headers, expected in [({}, ["find", "find"]), ({"if-none-match": etag}, ["find"])]:
        commands.commands.clear()
        await api.http.get(url, headers=headers)
        assert commands.names == expected


async def test_a_range_reads_its_own_chunks_only(api: Api, commands: CommandRecorder) -> None:
    url = await signup(api, 5_000_000)
    await api.http.get(url)
    commands.commands.clear()
    assert len((await api.http.get(url, headers={"range": "bytes=4000000-4000009"})).content) == 10
    assert commands.names == ["find", "find"]
