"""METEOR, by the Java program of its authors that pycocoevalcap carries.

Denkowski & Lavie, *Meteor universal: language specific translation evaluation for any target language* (2014).
The program is started once a session (it reads a large table of paraphrases first, which takes seconds) and is spoken
to over pipes: one thread writes while this one reads, so that neither side ever waits for the other with a full pipe,
and a clock ends a program that stops answering.
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
    """A running METEOR; use it in a `with` statement, for as many corpora as there are.

    Args:
        timeout: seconds that one corpus may take, the program's start included.
    """

    def __init__(self, *, timeout: float = 900) -> None:
        self._timeout = timeout
        command, folder = meteor_command()
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        try:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints
            )
        except OSError as error:
            self._complaints.close()
            raise SeetellError(f"METEOR's Java program cannot be started: {error}", remedy=_REMEDY) from error

    def __enter__(self) -> "Meteor":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._complaints):
            try:
                if pipe is not None:
                    pipe.close()
            except OSError:  # what could not be written any more
                pass

    def scores(
        self, candidates: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[float, npt.NDArray[np.float64]]:
        """METEOR of the corpus and of each image, in per cent, from captions tokenised and joined by spaces."""
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
        self._complaints.seek(0)
        said = self._complaints.read().decode(errors="replace").strip().splitlines()
        reason = f": {said[0]}" if said else ""
        return SeetellError(f"METEOR's Java program ended with code {self._process.returncode}{reason}", remedy=_REMEDY)


_REMEDY = "It needs Java 8 or newer and 2 GB of free memory; all other metrics work without it (meteor=False)"


def meteor_command() -> tuple[list[str], Path]:
    """How to start METEOR, and in which folder; raises an error that says what is missing."""
    package = importlib.util.find_spec("pycocoevalcap")
    if package is None or not package.submodule_search_locations:
        raise MissingExtraError("pycocoevalcap (for METEOR)", extra="metrics")
    jar = Path(package.submodule_search_locations[0]) / "meteor" / "meteor-1.5.jar"
    if not jar.is_file():
        raise SeetellError("pycocoevalcap has no METEOR program", where=str(jar), remedy="Install pycocoevalcap again")
    java = shutil.which("java")
    if java is None:
        raise SeetellError("METEOR needs Java, and there is no `java` on the PATH", remedy=_REMEDY)
    machine = [java, "-Dfile.encoding=UTF-8", "-Duser.language=en", "-Xmx2G"]  # whatever the user's own settings are
    return [*machine, "-jar", jar.name, "-", "-", "-stdio", "-l", "en", "-norm"], jar.parent


def _line(caption: str) -> str:
    """A caption that cannot be mistaken for more than one, or for part of the conversation."""
    return " ".join(caption.replace("|||", " ").split())
