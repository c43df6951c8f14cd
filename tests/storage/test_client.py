from service.storage.client import connect


async def test_writes_are_acknowledged_by_a_majority_whatever_the_uri_says() -> None:
    client = connect("mongodb://127.0.0.1:9/?w=1&readPreference=secondary")
    assert client.write_concern.document == {"w": "majority"}
    await client.close()
