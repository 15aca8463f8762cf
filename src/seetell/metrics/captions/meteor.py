"""METEOR, computed by its authors' Java program, which comes with pycocoevalcap.

Denkowski & Lavie, *Meteor universal: language specific translation evaluation for any target language* (2014).
The program is started once per session (it first reads a large table of paraphrases, which takes seconds) and
communicates over pipes: one thread writes while this one reads, so that neither side ever blocks on a full pipe, and a
timer ends a program that stops answering.
"""

import importlib.util
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import numpy as np
import numpy.typing as npt

from seetell.errors import MissingExtraError, SeetellError

_BETWEEN = " ||| "


class Meteor:
    """A METEOR session, for any number of corpora; use it in a `with` statement.

    Needs Java and the extra `metrics`::

        with Meteor() as meteor:
            score, per_image = meteor.scores(["a dog runs"], [["a dog is running", "the dog runs"]])

    Args:
        timeout: how many seconds one corpus may take, including the start of the program.
    """

    def __init__(self, *, timeout: float = 900) -> None:
        self._timeout = timeout
        command, folder = meteor_command()
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        try:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
            )
        except OSError as error:
            self._errors.close()
            raise SeetellError(f"METEOR's Java program cannot be started: {error}", remedy=_REMEDY) from error

    def __enter__(self) -> "Meteor":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # what could not be written any more
                pass

    def scores(
        self, candidates: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """METEOR of the corpus and of each image, as percentages.

        Args:
            candidates: one caption per image, tokenised and joined by spaces.
            references: the references of each image, likewise.
        """
        statistics = self._ask(
            [
                _BETWEEN.join(["SCORE", *map(_line, many), _line(one)])
                for one, many in zip(candidates, references, strict=True)
            ],
            answers=len(candidates),
        )
        *each, whole = self._ask([_BETWEEN.join(["EVAL", *statistics])], answers=len(candidates) + 1)
        try:
            return 100 * float(whole), 100 * np.array(each, dtype=np.float64)
        except ValueError as error:
            raise SeetellError(f"METEOR's answer is no number: {error}", remedy=_REMEDY) from error

    def _ask(self, lines: list[str], *, answers: int) -> list[str]:
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None
        assert sink is not None

        def write() -> None:
            try:
                sink.write("".join(line + "\n" for line in lines).encode())
                sink.flush()
            except (OSError, ValueError):
                pass  # the program has ended: the reader finds out

        clock = threading.Timer(self._timeout, self._process.kill)
        writer = threading.Thread(target=write, daemon=True)
        clock.start()
        writer.start()
        try:
            got = []
            for _ in range(answers):
                line = source.readline()
                if not line:
                    raise self._failure(in_time=clock.is_alive())
                got.append(line.decode().strip())
            return got
        finally:
            clock.cancel()
            writer.join(timeout=5)

    def _failure(self, *, in_time: bool) -> SeetellError:
        if not in_time:
            return SeetellError(f"METEOR gave no answer within {self._timeout:g} seconds", remedy=_REMEDY)
        self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        reason = f": {lines[0]}" if lines else ""
        return SeetellError(f"METEOR's Java program ended with code {self._process.returncode}{reason}", remedy=_REMEDY)


_REMEDY = "It needs Java 8 or newer and 2 GB of free memory; all other metrics work without it (meteor=False)"


def meteor_command() -> tuple[list[str], Path]:
    """The command that starts METEOR, and its folder; raises an error that names what is missing."""
    package = importlib.util.find_spec("pycocoevalcap")
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError("pycocoevalcap (for METEOR)", extra="metrics")
    jar = Path(package.submodule_search_locations[0]) / "meteor" / "meteor-1.5.jar"
    if not jar.is_file():
        raise SeetellError("pycocoevalcap has no METEOR program", where=str(jar), remedy="Install pycocoevalcap again")
    java = shutil.which("java")
    if java is None:
        raise SeetellError("METEOR needs Java, and there is no `java` on the PATH", remedy=_REMEDY)
    machine = [java, "-Dfile.encoding=UTF-8", "-Duser.language=en", "-Xmx2G"]  # independent of the user's locale
    return [*machine, "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"], jar.parent


def _line(caption: str) -> str:
    """A caption on one line, without the separator of the protocol."""
    return " ".join(caption.replace("|||", " ").split())
