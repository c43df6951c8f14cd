"""A record judged by one tree in steps, for conditions whose searches through long texts take long together. Pure."""

from service.query.closures import compile_tree
from service.query.reading import Reading
from service.query.tree import All, AnyOf, Tree
from service.schema.steps import Steps


def judge_in_steps(tree: Tree, reading: Reading) -> Steps[bool]:
    """As `compile_tree`; a step is one condition."""
    if not isinstance(tree, All | AnyOf):
        yield
        return compile_tree(tree)(reading)
    until = isinstance(tree, AnyOf)
    for part in tree.parts:
        if (yield from judge_in_steps(part, reading)) is until:
            return until
    return not until
