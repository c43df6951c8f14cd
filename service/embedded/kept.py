"""Secrets that a folder keeps: each is made on the first use, in a file that only its owner reads."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path


def keep_secret(path: Path, make: Callable[[], str]) -> str:
    """The text of the file at `path`, which is made where it is missing. Raises OSError.

    A link to a finished file appears at once and once, so two first uses agree on one secret.
    """
    if not path.exists():
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
            file.flush()
            os.fsync(descriptor)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text(errors="replace").strip()
