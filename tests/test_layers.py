"""The layers of docs/architecture.md: imports only ever point up the list, and PyTorch stays in `learn`."""

import ast
from pathlib import Path

import seetell

PACKAGE = Path(seetell.__file__).parent
LAYERS = [
    *(
        "errors",
        "util",
        "settings",
        "files",
        "progress",
        "images",
        "text",
        "data",
        "similarity",
        "decoding",
        "metrics",
        "bundle",
        "runtime",
    ),
    *("evaluation", "figures", "library", "learn", "web", "cli"),
]
LEARN_ONLY = {"torch", "torchvision", "timm", "lightning_fabric", "lightning", "optuna", "tensorboard", "matplotlib"}


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it the import stands."""
    found: set[str] = set()
    package = ["seetell", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) + "." if node.level else ""
            stem = base + (node.module or "")
            found |= {stem.rstrip(".")} | {f"{stem}.{alias.name}" for alias in node.names}
    return found


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def sources() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


def test_every_room_is_on_the_list() -> None:
    assert {room(path) for path in sources()} <= set(LAYERS)


def test_imports_point_up_the_list() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in sources()
        for name in imports(path)
        if name.startswith("seetell.")
        and name.split(".")[1] in LAYERS
        and LAYERS.index(name.split(".")[1]) > LAYERS.index(room(path))
    ]
    assert not wrong, wrong


def test_only_learn_imports_pytorch() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in sources()
        if room(path) != "learn"
        for name in imports(path)
        if name.split(".")[0] in LEARN_ONLY
    ]
    assert not wrong, wrong


def test_the_architecture_page_names_every_room() -> None:
    page = (PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    for name in sorted({room(path) for path in sources()}):
        assert f"`{name}" in page, f"docs/architecture.md does not speak of {name}"
