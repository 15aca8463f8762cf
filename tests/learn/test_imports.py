"""The modules of `seetell.learn` import one way: no module imports, directly or indirectly, one that imports it."""

import ast
from pathlib import Path

import seetell.learn

PACKAGE = Path(seetell.learn.__file__).parent


def module_name(path: Path) -> str:
    parts = ["seetell", "learn", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, modules: set[str]) -> set[str]:
    """The modules of `seetell.learn` that a file imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (whole & modules) or {node.module}
    return found & modules


def test_no_module_imports_its_importer() -> None:
    files = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"}
    graph = {name: imports(path, set(files)) for name, path in files.items()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path[path.index(name) :], name))
        if name not in done:
            for each in sorted(graph[name]):
                visit(each, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


def test_the_public_names_are_there() -> None:
    for name in seetell.learn.__all__:
        value = getattr(seetell.learn, name)
        assert value.__doc__, name
        assert not isinstance(value, type(seetell)), f"{name} is hidden by a module of the same name"
