"""Names of types, made of the names of collections and of fields: `my-books` → MyBooks. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

SUFFIXES = ("Keys", "Where", "Ref")
WORD = re.compile(r"[A-Za-z0-9]+")
# Names that the generated texts import, define or need of their language, in lower case.
TAKEN = frozenset(
    each.lower()
    for each in (
        *(
            "User",
            "NewUser",
            "UserKeys",
            "UserWhere",
            "UsersRef",
            "Schema",
            "Keys",
            "Id",
            "Time",
            "TimeInput",
            "FileUrl",
        ),
        *("Upload", "Scalar", "Related", "CollectionRef", "Record", "Sequence", "TYPE_CHECKING", "Any", "Literal"),
        *("NotRequired", "TypedDict", "None", "True", "False"),
    )
)


def make_names(
    collections: Iterable[str], *, suffixes: Iterable[str] = (), taken: Iterable[str] = ()
) -> dict[str, str]:
    """The name of each collection's type; further names are made of it with `suffixes`, and some are `taken` besides.

    If two of all names that are made of them are equal in lower case, or one is taken, the names of all collections
    concerned end in six digits of a hash.
    """
    plain = {name: join_words(name) for name in collections}
    made = {base: _made_of(base, suffixes) for base in plain.values()}
    uses = Counter(each for base in plain.values() for each in made[base])
    refused = TAKEN.union(each.lower() for each in taken)
    collides = {base: any(uses[each] > 1 or each in refused for each in names) for base, names in made.items()}
    return {name: f"{base}_{_hash(name)}" if collides[base] else base for name, base in plain.items()}


def join_words(name: str) -> str:
    """`order-lines` → OrderLines; empty where the name has no letter or digit of ASCII."""
    return "".join(word[0].upper() + word[1:] for word in WORD.findall(name))


def name_parts(fields: Mapping[str, int]) -> dict[str, str]:
    """The part of a nested type's name for each field, by the fields' positions; the position follows what is no name yet."""
    words = {name: join_words(name) for name in fields}
    first = dict(_separate(words, {name: f"{words[name]}{place}" for name, place in fields.items()}, {""}))
    return dict(_separate(first, {name: f"{words[name]}_{place}" for name, place in fields.items()}, set()))


def _separate(names: Mapping[str, str], others: Mapping[str, str], refused: set[str]) -> Iterator[tuple[str, str]]:
    """Each name, or the other one where it is refused or stands for two."""
    uses = Counter(names.values())
    return ((key, others[key] if uses[name] > 1 or name in refused else name) for key, name in names.items())


def _made_of(base: str, suffixes: Iterable[str]) -> list[str]:
    low = base.lower()
    return [low, f"new{low}", *(f"{low}{each.lower()}" for each in (*SUFFIXES, *suffixes))]


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:6]
