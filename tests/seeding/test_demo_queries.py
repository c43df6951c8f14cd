"""The examples of the page on realtime ask the demo's own collections."""

import re
from pathlib import Path

from service.query.bind import bind
from service.query.nodes import ListQuery
from service.query.parse import parse, parse_pairs
from service.query.shapes import DocumentShape
from service.query.where import read_filter
from service.schema.fields import parse as parse_fields
from service.seeding.manifest import read_manifest

PAGE = Path("docs/realtime.md").read_text()
DEMO = read_manifest(Path("service/seeding/demo/demo.yaml"))


def find_shape(name: str) -> DocumentShape:
    """The shape of a collection of the demo that is live."""
    collection = DEMO.collections[name]
    assert collection.realtime
    return DocumentShape(f"c_{name}", parse_fields(collection.declared), lambda _: None)


def test_the_subscription_of_the_page_asks_a_live_collection_of_the_demo() -> None:
    (example,) = re.findall(r"collection: '(\w+)', where: {(\w+): '(\w+)'}, sort_by", PAGE)
    name, condition, value = example
    assert bind(ListQuery(where=read_filter({condition: value}, ("where",))), find_shape(name)).match


def test_the_stream_of_the_page_asks_a_live_collection_of_the_demo() -> None:
    (example,) = re.findall(r"event-stream' \"\$URL/api/collections/(\w+)/documents\?([^\"]+)\"", PAGE)
    name, query = example
    assert bind(parse(parse_pairs(query.encode())), find_shape(name)).match
