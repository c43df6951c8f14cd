"""The latency that another client sees during a load."""

import threading
import time

import httpx2

from faults.server import Server


class Probe:
    """Lists the users of another project again and again, and notes how long each took."""

    def __init__(self, server: Server, key: str, *, pause: float = 0.02) -> None:
        self._url, self._headers = f"{server.url}/auth-collections/users?limit=1", {"x-api-key": key}
        self._pause = pause
        self._seconds: list[float] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _ask(self) -> None:
        with httpx2.Client(timeout=60) as client:
            while not self._is_over.wait(self._pause):
                started = time.monotonic()
                client.get(self._url, headers=self._headers).raise_for_status()
                self._seconds.append(time.monotonic() - started)

    def take(self) -> str:
        found, self._seconds = sorted(self._seconds), []
        if not found:
            return "none"
        places = {"p50": len(found) // 2, "p99": len(found) * 99 // 100}
        return ", ".join(f"{name} {found[place] * 1_000:.1f} ms" for name, place in places.items())
