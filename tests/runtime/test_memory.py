"""However many images there are, memory stays as it is."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.tiny_bundles import write_tiny

# In a process of its own: the peak of a process never falls.
SCRIPT = """
import resource, sys
from itertools import cycle, islice
from pathlib import Path
from seetell.runtime import open_model

paths = sorted(Path(sys.argv[2]).iterdir())
with open_model(sys.argv[1], threads=2) as model:
    for done, result in enumerate(model.captioner(islice(cycle(paths), 5000)), start=1):
        assert result.error is None
        if done in (500, 5000):
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the peak is read from the resource module, which Windows lacks")
def test_five_thousand_images_take_no_more_memory_than_five_hundred(tmp_path: Path) -> None:
    bundle = write_tiny(tmp_path / "bundle").path
    (tmp_path / "photos").mkdir()
    random = np.random.default_rng(0)
    for index in range(20):
        small = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8))
        small.resize((640, 480)).save(tmp_path / "photos" / f"{index}.jpg")
    command = [sys.executable, "-c", SCRIPT, str(bundle), str(tmp_path / "photos")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    early, late = (int(line) for line in printed.split())
    assert late < 1.05 * early  # an image kept would be 0.9 MB, all of them 4.5 GB
