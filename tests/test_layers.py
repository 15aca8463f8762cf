"""The layers of docs/architecture.md: imports point up the lists only, and heavy packages stay where they belong."""

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

import seetell

PACKAGE = Path(seetell.__file__).parent
# A module may import what stands before it in its list, never what stands after it. An entry is a package, a module,
# or a module of a package that comes first: `training.train` is above `tasks`, the rest of `training` below.
LAYERS = {
    "": [
        *("errors", "util", "settings", "files", "progress", "images", "text", "data", "similarity", "decoding"),
        *("metrics", "bundle", "runtime", "evaluation", "figures", "library", "learn", "web", "cli"),
    ],
    "learn": [
        *("files", "weight_names", "onnx_graphs", "encoders", "recipes", "losses", "models", "training", "tasks"),
        *("training.train", "training.evaluate", "training.tune", "exporting", "importing", "reproduction"),
    ],
    "library": [
        *("records", "filters", "location", "storage", "current_model", "search", "queries", "indexing", "remote"),
        *("indexing.indexer", "descriptions", "export", "opening", "library"),
    ],
}
LEARN_ONLY = {"torch", "torchvision", "timm", "lightning_fabric", "lightning", "optuna", "tensorboard", "matplotlib"}
WEB_ONLY = {"fastapi", "uvicorn", "starlette", "pydantic"}

MOST_LINES = 350
MOST_FUNCTION_LINES = 60
GENERATED: set[str] = set()  # tables that a program wrote, by path

# Classes that play the same role in sibling packages may share a name.
SAME_ROLE: set[str] = set()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def sources(area: str = "") -> list[Path]:
    """The source files of an area, without its `__init__.py`, which gathers what is public from all its layers."""
    folder = PACKAGE / area
    return [path for path in sorted(folder.rglob("*.py")) if path != folder / "__init__.py"]


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it the import is."""
    found: set[str] = set()
    package = ["seetell", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            stem = base + (node.module or "")
            found |= {stem.rstrip(".")} | {f"{stem}.{alias.name}" for alias in node.names}
    return found


def rank(module: str, area: str) -> int | None:
    """The position of a module (`seetell.learn.training.run`) in the list of an area; None if it is not of the area."""
    prefix = f"seetell.{area}." if area else "seetell."
    inside = module.removeprefix(prefix)
    if inside == module:
        return None
    known = [entry for entry in LAYERS[area] if inside == entry or inside.startswith(f"{entry}.")]
    return LAYERS[area].index(max(known, key=len)) if known else None


def module_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(["seetell", *(parts[:-1] if parts[-1] == "__init__" else parts)])


@pytest.mark.parametrize("area", LAYERS)
def test_every_module_is_on_the_list(area: str) -> None:
    assert not [name_of(path) for path in sources(area) if rank(module_of(path), area) is None]


@pytest.mark.parametrize("area", LAYERS)
def test_imports_point_up_the_list(area: str) -> None:
    wrong = []
    for path in sources(area):
        own = rank(module_of(path), area)
        for name in sorted(imports(path)):
            other = rank(name, area)
            if own is not None and other is not None and other > own:
                wrong.append(f"{name_of(path)} imports {name}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(("area", "packages"), [("learn", LEARN_ONLY), ("web", WEB_ONLY), ("", {"unittest"})])
def test_packages_stay_in_their_layer(area: str, packages: set[str]) -> None:
    """PyTorch in `learn`, the web framework in `web`, and no test framework anywhere."""
    outside = [path for path in sources() if not area or path.relative_to(PACKAGE).parts[0] != area]
    wrong = [
        f"{name_of(path)} imports {name}"
        for path in outside
        for name in sorted(imports(path))
        if name.split(".")[0] in packages
    ]
    assert not wrong, "\n".join(wrong)


def test_import_seetell_is_light() -> None:
    heavy = ("numpy", "onnxruntime", "PIL", "torch", "fastapi", "typer", "rich")
    code = f"import seetell, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_files_are_short() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    long = {name: lines for name, lines in lengths.items() if lines > MOST_LINES and name not in GENERATED}
    assert not long, f"split these files at {MOST_LINES} lines: {long}"


def test_functions_are_short() -> None:
    long = {
        f"{name_of(path)}: {node.name}": node.end_lineno - node.lineno + 1
        for path in PACKAGE.rglob("*.py")
        if name_of(path) not in GENERATED
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > MOST_FUNCTION_LINES
    }
    assert not long, f"split these functions at {MOST_FUNCTION_LINES} lines: {long}"


def test_no_two_public_classes_share_a_name() -> None:
    owners: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name].append(name_of(path))
    shared = {name: paths for name, paths in owners.items() if len(paths) > 1 and name not in SAME_ROLE}
    assert not shared, shared


def test_the_architecture_page_names_every_layer() -> None:
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    missing = [name for name in LAYERS[""] if f"`{name}" not in page]
    assert not missing, f"docs/architecture.md does not name {missing}"
