"""The rules of one version as they are kept in memory, and what must be known to bind them to a caller."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from service.query.tree import Tree, leaves
from service.rules.ruleset import CollectionRules, Rules
from service.rules.templates import NOW, SET_PREFIX, Values, bind, targets_of, variables_of
from service.schema.steps import Steps, finish


@dataclass(frozen=True, slots=True)
class Needs:
    """The facts needed to bind the rules of a collection: names of sets, and the present time if `moment`.

    `conditions` counts theirs.
    """

    sets: tuple[str, ...]
    moment: bool
    conditions: int


@dataclass(frozen=True, slots=True, eq=False)
class CompiledRules:
    """The rules of one revision, and the MongoDB collection behind each declared one. `length` is that of their text."""

    version: str
    rules: Rules
    collections: Mapping[str, str] = field(default_factory=dict)
    length: int = 0
    _needs: dict[str, Needs] = field(default_factory=dict)

    def known_needs(self, name: str) -> Needs | None:
        """The needs of the rules of the collection of that name, once they were found."""
        return self._needs.get(name)

    def find_needs(self, name: str, rules: CollectionRules) -> Steps[Needs]:
        """The needs of the rules of the collection of that name; a step is one rule."""
        if name not in self._needs:
            self._needs[name] = yield from read_needs(rules, self.rules)
        return self._needs[name]

    def needs_of(self, name: str, rules: CollectionRules) -> Needs:
        """As `find_needs`, at once."""
        return finish(self.find_needs(name, rules))


def make_values(compiled: CompiledRules, known: Mapping[str, Any]) -> Values:
    def readable(target: str) -> tuple[str, Tree]:
        rules = compiled.rules.of(target)
        return compiled.collections.get(target, target), bind(rules.read, values) if rules else False

    values = Values(known, readable)
    return values


def read_needs(rules: CollectionRules, every: Rules) -> Steps[Needs]:
    names = {each.set_to.name for each in rules.fields.values() if each.set_to is not None}
    conditions = 0
    for template in _reachable(rules, every):
        yield
        names |= {variable.name for variable in variables_of(template)}
        conditions += sum(1 for _ in leaves(template))
    sets = sorted(name.removeprefix(SET_PREFIX) for name in names if name.startswith(SET_PREFIX))
    return Needs(tuple(sets), NOW in names, conditions)


def _reachable(rules: CollectionRules, every: Rules) -> Iterator[Tree]:
    """The templates of `rules`, and of the read rules that they need by `$can`, which are few in a row."""
    waiting = [template for _, template in rules.templates()]
    seen: set[str] = set()
    while waiting:
        template = waiting.pop()
        yield template
        for target in targets_of(template) - seen:
            seen.add(target)
            needed = every.of(target)
            waiting += [needed.read] if needed else []
