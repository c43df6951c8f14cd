"""Compares the parts of a library that the service replaces or reaches into with those that it was written for."""

from collections.abc import Callable, Iterator, Mapping
from inspect import isfunction, signature
from typing import Any

Parameters = Mapping[Callable[..., Any], str]
Attributes = Mapping[type, str]


def find_changes(parameters: Parameters, attributes: Attributes) -> list[str]:
    """One sentence for each function with other parameters, and for each class that lacks an attribute."""
    return [*_find_parameters(parameters), *_find_attributes(attributes)]


def _find_parameters(parameters: Parameters) -> Iterator[str]:
    for function, expected in parameters.items():
        found = " ".join(signature(function).parameters)
        if found != expected:
            yield f"{function.__qualname__} has the parameters ({found}), not ({expected})"


def _find_attributes(attributes: Attributes) -> Iterator[str]:
    for each, expected in attributes.items():
        if missing := set(expected.split()) - _names(each):
            yield f"{each.__qualname__} has no {', '.join(sorted(missing))}"


def _names(each: type) -> set[str]:
    """The names that the class defines, and those that its functions read or write, as they do of `self`."""
    functions = [found for parent in each.__mro__ for found in vars(parent).values() if isfunction(found)]
    return {*dir(each), *(name for function in functions for name in function.__code__.co_names)}
