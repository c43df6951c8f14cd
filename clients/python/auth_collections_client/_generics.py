"""The type variables of the package. Their defaults exist for type checkers; Python 3.11 knows none at run time."""

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    D = DefaultTypeVar("D", default=dict[str, Any])
    N = DefaultTypeVar("N", default=dict[str, Any])
    W = DefaultTypeVar("W", default=dict[str, Any])
    U = DefaultTypeVar("U", default=dict[str, Any])
    UN = DefaultTypeVar("UN", default=dict[str, Any])
    UW = DefaultTypeVar("UW", default=dict[str, Any])
else:
    D, N, W = TypeVar("D"), TypeVar("N"), TypeVar("W")
    U, UN, UW = TypeVar("U"), TypeVar("UN"), TypeVar("UW")

D2 = TypeVar("D2")
N2 = TypeVar("N2")
W2 = TypeVar("W2")
M = TypeVar("M")
T = TypeVar("T")
# The default of a `where`: with `W | None` a type checker would no longer name a misspelt key of a TypedDict.
MISSING: Any = None
