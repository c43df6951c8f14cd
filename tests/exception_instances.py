"""Refuses exception instances that live as long as their module: `python -m tests.exception_instances`, in `scripts/check`.

CPython adds to the traceback of an exception object at each raise, so a shared object keeps the frames of every raise.
"""

import ast
import builtins
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

CHECKED = ("service", "faults", "bench")
Modules = dict[str, ast.Module]


def main(folders: Sequence[str]) -> int:
    """Prints the place of each instance; the exit status is 1 where there is one."""
    paths = [path for folder in folders for path in sorted(Path(folder).rglob("*.py"))]
    found = find_instances({str(path): ast.parse(path.read_text()) for path in paths})
    for place in found:
        sys.stderr.write(f"{place} makes an exception that lives as long as its module; raise a new one each time\n")
    return 1 if found else 0


def find_instances(modules: Modules) -> list[str]:
    """`path:line` of each expression, outside of functions, that makes an exception."""
    names = _exceptions(modules)
    return [
        f"{path}:{node.lineno}"
        for path, module in modules.items()
        for node in _evaluated(module)
        if isinstance(node, ast.Call) and _makes(node.func, names)
    ]


def _exceptions(modules: Modules) -> set[str]:
    """Names of exception classes, and of functions that return one: Python's, and those of the modules."""
    builtin = {name: value for name, value in vars(builtins).items() if isinstance(value, type)}
    names = {name for name, value in builtin.items() if issubclass(value, BaseException)}
    nodes = [node for module in modules.values() for node in ast.walk(module)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    count = 0
    while count != len(names):
        count = len(names)
        names |= {each.name for each in classes if any(_name(base) in names for base in each.bases)}
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.returns is not None]
    return names | {each.name for each in functions if _name(each.returns) in names}


def _name(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _makes(function: ast.expr, names: set[str]) -> bool:
    """A call of the class, of a module's class, or of a constructor such as `Invalid.one`."""
    if _name(function) in names:
        return True
    return isinstance(function, ast.Attribute) and not function.attr.startswith("_") and _name(function.value) in names


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that Python evaluates when it imports the module; an exception that is raised there is not kept."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            defaults = [*child.args.defaults, *filter(None, child.args.kw_defaults)]
            yield from defaults
            yield from (inner for default in defaults for inner in _evaluated(default))
        elif not isinstance(child, ast.Raise):
            yield child
            yield from _evaluated(child)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or CHECKED))
