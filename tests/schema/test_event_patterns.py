"""Patterns of events."""

import pytest

from service.schema.event_patterns import are_within, check_pattern, matches, wants_documents, wants_kind
from service.schema.values import BadValue


@pytest.mark.parametrize(
    ("pattern", "type_", "chosen"),
    [
        ("*", "documents.orders.created", True),
        ("documents.*", "documents.orders.created", True),
        ("documents.*", "users.created", False),
        ("documents.orders.*", "documents.orders.deleted", True),
        ("documents.orders.*", "documents.orders_old.deleted", False),
        ("documents.orders.created", "documents.orders.created", True),
        ("documents.orders.created", "documents.orders.updated", False),
        ("users.*", "users.updated", True),
        ("auth.*", "auth.signed_in", True),
        ("auth.signed_in", "auth.signed_in", True),
        ("rules.updated", "rules.updated", True),
    ],
)
def test_a_pattern_chooses_types(pattern: str, type_: str, chosen: bool) -> None:
    assert check_pattern(pattern) == pattern
    assert matches([pattern], type_) is chosen


@pytest.mark.parametrize(
    "pattern",
    [
        *("", "**", "documents", "documents.", "documents.orders", "documents.orders.", "documents.*.created"),
        *(
            "documents.9x.created",
            "documents.orders.renamed",
            "users",
            "users.signed_in",
            "auth.Signed",
            "rules.created",
        ),
        *("feed.gap", "sessions.*", "documents.orders.created ", "documents.or ders.*"),
    ],
)
def test_other_texts_are_refused(pattern: str) -> None:
    with pytest.raises(BadValue):
        check_pattern(pattern)


@pytest.mark.parametrize(
    ("asked", "allowed", "within"),
    [
        ((), (), True),
        (("users.created",), ("users.*",), True),
        (("users.*",), ("users.created",), False),
        (("documents.orders.*",), ("documents.*",), True),
        (("documents.*",), ("documents.orders.*",), False),
        (("*",), ("documents.*", "users.*"), False),
        (("users.created",), (), False),
    ],
)
def test_what_is_asked_lies_within_what_is_kept(asked: tuple[str, ...], allowed: tuple[str, ...], within: bool) -> None:
    assert are_within(asked, allowed) is within


def test_the_sources_of_events_follow_from_the_patterns() -> None:
    assert wants_documents(["documents.orders.created"], "orders")
    assert not wants_documents(["documents.orders.created"], "order")
    assert wants_documents(["*"], "anything")
    assert wants_kind(["auth.signed_in"], "auth")
    assert not wants_kind(["users.*"], "auth")
