"""The exit codes that every command shares."""

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended, for scripts."""

    DONE = 0
    NOTHING_FOUND = 1
    ERROR = 2
    PARTIAL = 3
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.DONE: "done",
    ExitCode.NOTHING_FOUND: "nothing found",
    ExitCode.ERROR: "error or wrong usage",
    ExitCode.PARTIAL: "done in part",
    ExitCode.INTERRUPTED: "interrupted",
}
EPILOG = "Exit codes: " + " · ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items())

# `seetell … | head` ends the way a shell reports any program that a closed pipe has ended: 128 + SIGPIPE.
BROKEN_PIPE = 141
