"""A report page: headings, paragraphs, tables and figures, rendered as Markdown and as HTML."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seetell.files import write_file

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1e; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .4rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; min-width: 11rem; }
th { border-bottom: 2px solid #999; }
img { max-width: 100%; }
pre { background: #f4f4f6; padding: .6rem; overflow-x: auto; }
@media (prefers-color-scheme: dark) { body { background: #161618; color: #eee; } pre { background: #26262a; } }
"""


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Command:
    text: str


@dataclass(frozen=True)
class Table:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Figure:
    """An image next to the page: its file name and its alternative text."""

    file: str
    about: str


Block = Heading | Paragraph | Command | Table | Figure


@dataclass
class Page:
    """Blocks under a title."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        self.blocks += blocks

    def write(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / f"{name}.md", self.markdown())
        write_file(folder / f"{name}.html", self.html())

    def markdown(self) -> str:
        return "\n\n".join([f"# {self.title}", *(markdown(block) for block in self.blocks)]) + "\n"

    def html(self) -> str:
        body = "\n".join([f"<h1>{html.escape(self.title)}</h1>", *(_html(block) for block in self.blocks)])
        head = f'<meta charset="utf-8"><title>{html.escape(self.title)}</title><style>{STYLE}</style>'
        return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def prose(path: Path) -> list[Block]:
    """The blocks of a Markdown file: paragraphs, commands (indented by four spaces), headings (`##`) and tables.

    A file that does not exist has none.
    """
    if not path.exists():
        return []
    blocks: list[Block] = []
    for text in path.read_text(encoding="utf-8").strip("\n").split("\n\n"):
        if text.startswith("    "):
            blocks.append(Command("\n".join(line[4:] for line in text.splitlines())))
        elif text.startswith("## "):
            blocks.append(Heading(text[3:].strip()))
        elif text.startswith("|"):
            head, _, *rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in text.splitlines()]
            blocks.append(Table(head, rows))
        else:
            blocks.append(Paragraph(" ".join(text.split())))
    return blocks


def markdown(block: Block) -> str:
    """One block as Markdown."""
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Command(text):
            return "\n".join("    " + line for line in text.splitlines())
        case Figure(file, about):
            return f"![{about}]({file})"
        case Table(head, rows):
            lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
            return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _inline(text: str) -> str:
    """Inline Markdown as HTML: bold, code and links."""
    text = html.escape(text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)


def _html(block: Block) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case Command(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Figure(file, about):
            return f'<p><img src="{html.escape(file)}" alt="{html.escape(about)}"></p>'
        case Table(head, rows):
            top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
            body = "\n".join("<tr>" + "".join(f"<td>{_inline(c)}</td>" for c in row) + "</tr>" for row in rows)
            return f"<table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>"
