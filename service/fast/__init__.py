"""Replacements of parts of libraries, each of which makes requests cheaper, and each behind a switch.

A switch is a name in the environment variable WITHOUT, which is read once; there the library's own part is used. Tests and
`scripts/bench` use that; `docs/decisions/0021-speed-in-one-wing.md` has what each saves.
"""

import os

WITHOUT = "WITHOUT_FAST"
SWITCHES = ("driver", "router", "transport")
_off = frozenset(os.environ.get(WITHOUT, "").split(",")) - {""}
if unknown := _off.difference(SWITCHES):
    raise ImportError(f"{WITHOUT} names {', '.join(sorted(unknown))}; it takes {', '.join(SWITCHES)}")


def uses(switch: str) -> bool:
    """True if the replacement is used, and not the library's own part."""
    return switch not in _off
