"""The seconds until the first thumbnail of a photograph is there, and the latency of other requests while 20 are made.

`scripts/bench_variants [--rounds N] [PICTURE]`: two workers on an embedded MongoDB of their own. Without a picture, one
of 12 megapixels that is as hard to decode as a photograph. Fails if a variant is not answered with 200.
"""

import argparse
import io
import json
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import httpx2
from PIL import Image

from bench.probe import Probe
from faults.samples import FORM_TYPE, data_part, file_part, form
from faults.server import NO_LIMITS, Server, serving
from service.embedded.mongod import embedded_mongodb

AT_ONCE, SINGLE = 20, 9
SIZE = (4_000, 3_000)
QUIET_SECONDS = 3.0
PROBE_PAUSE = 0.005


def main() -> None:
    """Uploads, asks for one after the other, then for many at once, and prints a line for each."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("picture", type=Path, nargs="?", help="A JPEG.")
    arguments.add_argument(
        "--rounds", type=int, default=3, choices=range(1, 10), help="How often many are made at once."
    )
    options = arguments.parse_args()
    content = options.picture.read_bytes() if options.picture else photograph()
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as uri,
        serving(uri, "bench_variants_", workers=2) as server,
    ):
        other = json.loads(server.command("project", "create", "Other", "--json", *NO_LIMITS))
        outcomes = _measure(server, other["api_key"], content, options.rounds)
    raise SystemExit(0 if set(outcomes) == {200} else 1)


def photograph() -> bytes:
    """Noise upon a gradient: some 4 MB, as a camera makes of its 12 megapixels."""
    noise = Image.effect_noise(SIZE, 24)
    bands = [Image.linear_gradient("L").rotate(turn).resize(SIZE) for turn in (0, 90, 180)]
    image = Image.merge("RGB", [Image.blend(band, noise, 0.4) for band in bands])
    target = io.BytesIO()
    image.save(target, "JPEG", quality=90)
    return target.getvalue()


def _measure(server: Server, probe_key: str, content: bytes, rounds: int) -> Counter[int]:
    urls, outcomes = _upload(server, content, rounds), Counter[int]()
    times = [_ask(server, f"{url}?variant=single", outcomes) for url in urls[:SINGLE]]
    _print(
        f"first thumbnail of {len(content) / 1e6:.1f} MB: median {median(times) * 1_000:.0f} ms, "
        f"the very first {times[0] * 1_000:.0f} ms, the slowest {max(times) * 1_000:.0f} ms"
    )
    with Probe(server, probe_key, pause=PROBE_PAUSE) as probe:
        time.sleep(QUIET_SECONDS)
        _print(f"a list of another project, alone: {probe.take()}")
        for number in range(rounds):
            started, before = time.monotonic(), outcomes.copy()
            with ThreadPoolExecutor(AT_ONCE) as clients:
                list(clients.map(lambda url: _ask(server, url, outcomes), [f"{url}?variant=r{number}" for url in urls]))
            seconds, found = time.monotonic() - started, dict(outcomes - before)
            _print(f"{AT_ONCE} at once: {found} in {seconds:.1f} s; a list of another project {probe.take()}")
    return outcomes


def _upload(server: Server, content: bytes, rounds: int) -> list[str]:
    """The paths of so many documents' pictures."""
    names = ["single", *(f"r{number}" for number in range(rounds))]
    variants = {name: {"width": 160 + number, "height": 160, "fit": "cover"} for number, name in enumerate(names)}
    schema = {"image": {"type": "file", "types": ["jpg"], "variants": variants}}
    server.request("POST", "/api/collections", json={"name": "photos", "schema": schema}).raise_for_status()
    return [_create(server, content) for _ in range(AT_ONCE)]


def _create(server: Server, content: bytes) -> str:
    body = form(data_part({}), file_part("image", "photograph.jpg", content))
    answer = server.request("POST", "/api/collections/photos/documents", content=body, headers=FORM_TYPE)
    url: str = answer.raise_for_status().json()["data"]["image"]
    return url[url.index("/files/") :]


def _ask(server: Server, path: str, outcomes: Counter[int]) -> float:
    """The seconds of one request."""
    started = time.monotonic()
    answer = httpx2.get(f"{server.url}{path}", timeout=60)
    seconds = time.monotonic() - started
    outcomes[answer.status_code] += 1
    return seconds


def _print(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - figures for a person


if __name__ == "__main__":
    main()
