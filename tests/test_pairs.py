"""The pairs of bounds that `scripts/fuzz --quantity` drives: each names bounds that exist, and stands for what it says."""

import pytest

from faults.attacks import PAIRS
from faults.quantity.products import BY_NAME, COLLECTIONS, FIELD_RULES, PRODUCTS, RULES, Product
from service import bounds


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_a_pair_names_at_least_two_bounds(product: Product) -> None:
    assert len(product.bounds) >= 2
    assert all(isinstance(getattr(bounds, name), bounds.Bound) for name in product.bounds)


def test_the_pairs_of_the_hostile_project_are_driven_alone_as_well() -> None:
    assert len(BY_NAME) == len(PRODUCTS)
    assert set(PAIRS) <= BY_NAME.keys()


def test_the_prepared_rules_are_at_the_bound_of_field_rules() -> None:
    assert set(RULES["collections"]) == COLLECTIONS.keys() - {"p-sources"}
    assert sum(len(rule["read"]["or"]) for rule in FIELD_RULES.values()) == 100
