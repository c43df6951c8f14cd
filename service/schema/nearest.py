"""The nearest name that there is, for a refusal of a name that there is not. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

from service.schema.strict_json import shown

# A hint compares so many names of at most so many characters: a comparison costs the product of two lengths.
HINTED_NAMES, HINTED_CHARACTERS = 200, 40
NEAR = 0.7


def describe_nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that proposes the nearest of the `known` names; empty if none is near, or it is `name`.

    A refusal describes it for its first unknown name only, so that many of them cost no more than one.
    """
    if len(name) > HINTED_CHARACTERS:
        return ""
    folded = {each.casefold(): each for each in islice(known, HINTED_NAMES) if len(each) <= HINTED_CHARACTERS}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=NEAR)
    return f"; did you mean {shown(folded[near[0]])}?" if near and folded[near[0]] != name else ""
