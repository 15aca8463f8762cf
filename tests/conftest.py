"""What tests need of the machine, and what happens where it is absent."""

import os
import shutil
from collections.abc import Iterator

import pytest

NEEDS = {"java": "Java", "chromium": "Chromium"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for command, name in NEEDS.items():
            if item.get_closest_marker(command) and shutil.which(command) is None:
                item.add_marker(pytest.mark.skip(reason=f"{name} is not on the PATH; install it to run this test"))


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """With SEETELL_NO_SKIPS set (as in continuous integration) a skipped test fails the run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("SEETELL_NO_SKIPS") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    yield


@pytest.fixture(autouse=True, scope="session")
def _own_cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes the user's own feature store, nor does what is made once for a whole module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEETELL_STORE", str(tmp_path_factory.getbasetemp() / "store"))
        yield
