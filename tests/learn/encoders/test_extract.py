import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from seetell.data import Record
from seetell.errors import SeetellError
from seetell.learn.encoders import Encoder, FeatureStore, encode_dataset, space
from seetell.learn.encoders.keys import image_key
from seetell.progress import Progress

MakeRecord = Callable[..., Record]
MakeRecords = Callable[[int], list[Record]]


def content(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


class TestEncodeDataset:
    def test_every_image_gets_its_row(self, small: Encoder, make_records: MakeRecords, tmp_path: Path) -> None:
        records = make_records(20)
        messages: list[str] = []
        progress = Progress(write=messages.append)
        report = encode_dataset(records, small, ["pooled", "grid"], root=tmp_path, batch_size=2, progress=progress)
        assert (report.images, report.new, report.present, report.unreadable) == (20, 20, 0, ())
        assert messages[0].startswith("pooled: 20 images × 512 bytes = 10.2 KB in ")
        for layout, store in report.stores.items():
            opened = FeatureStore.open(store.folder)
            assert opened.spec.encoder == "test_efficientnet@random"
            rows = opened.rows_for(records)
            assert rows.tolist() == list(range(20))
            for record, row in zip(records[::7], rows[::7], strict=True):
                pixels = torch.from_numpy(small.preparation().open(record.image.read()))
                expected = small.encode(pixels, [layout])[layout]
                torch.testing.assert_close(opened.tensor([row]), expected, rtol=2e-3, atol=1e-3)

    def test_what_is_there_is_not_done_again(self, small: Encoder, make_records: MakeRecords, tmp_path: Path) -> None:
        encode_dataset(make_records(5), small, ["pooled"], root=tmp_path)
        before = content(tmp_path)
        report = encode_dataset(make_records(5), small, ["pooled"], root=tmp_path)
        assert (report.new, report.present) == (0, 5)
        assert content(tmp_path) == before
        report = encode_dataset(make_records(8), small, ["pooled"], root=tmp_path)
        assert (report.new, report.present) == (3, 5)

    def test_a_layout_can_be_added_later(self, small: Encoder, make_records: MakeRecords, tmp_path: Path) -> None:
        records = make_records(6)
        first = encode_dataset(records[:3], small, ["pooled"], root=tmp_path)
        kept = content(first.stores["pooled"].folder)
        both = encode_dataset(records, small, ["pooled", "levels"], root=tmp_path)
        assert both.new == 6  # three of them for levels alone
        assert {name: len(store) for name, store in both.stores.items()} == {"pooled": 6, "levels": 6}
        assert content(first.stores["pooled"].folder)["values.bin"].startswith(kept["values.bin"])

    def test_equal_images_share_a_row(self, small: Encoder, make_record: MakeRecord, tmp_path: Path) -> None:
        records = [make_record(1), make_record(2), make_record(1), make_record(1)]
        report = encode_dataset(records, small, ["pooled"], root=tmp_path)
        assert (report.new, report.present) == (2, 2)
        assert report.stores["pooled"].rows_for(records).tolist() == [0, 1, 0, 0]

    def test_bad_images_are_listed_and_never_fatal(
        self, small: Encoder, make_record: MakeRecord, tmp_path: Path
    ) -> None:
        bad = b"\xff\xd8\xff nothing more"
        records = [make_record(0), make_record(1, None), make_record(2, bad), make_record(3), make_record(4, bad)]
        report = encode_dataset(records, small, ["pooled"], root=tmp_path)
        assert (report.new, report.present) == (2, 0)
        assert [each.where for each in report.unreadable] == [f"image-{i}.jpg" for i in (1, 2, 4)]
        assert report.unreadable[0].reason == "there is no such file"
        assert report.stores["pooled"].rows_for(records).tolist() == [0, -1, -1, 1, -1]
        again = encode_dataset(records, small, ["pooled"], root=tmp_path)
        assert (again.new, again.present, len(again.unreadable)) == (0, 2, 3)

    def test_a_full_disk_is_noticed_before_anything_is_encoded(
        self, small: Encoder, make_records: MakeRecords, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(space, "_HEADROOM", 10**18)
        with pytest.raises(SeetellError, match="Free some space"):
            encode_dataset(make_records(3), small, ["pooled"], root=tmp_path)
        assert not list(tmp_path.rglob("values.bin"))

    def test_ten_crops_have_a_store_of_their_own(
        self, small: Encoder, make_records: MakeRecords, tmp_path: Path
    ) -> None:
        one = encode_dataset(make_records(2), small, ["pooled"], root=tmp_path)
        ten = encode_dataset(make_records(2), small, ["pooled"], root=tmp_path, preparation=small.preparation("ten"))
        assert ten.new == 2
        assert "-ten-" in ten.stores["pooled"].folder.name
        assert not np.array_equal(one.stores["pooled"].values, ten.stores["pooled"].values)

    def test_mirror_images_have_a_store_of_their_own(
        self, small: Encoder, make_records: MakeRecords, tmp_path: Path
    ) -> None:
        records = make_records(3)
        plain = encode_dataset(records, small, ["pooled"], root=tmp_path)
        turned = encode_dataset(records, small, ["pooled"], root=tmp_path, mirrored=True)
        assert turned.new == 3
        store = FeatureStore.open(turned.stores["pooled"].folder)
        assert "-mirrored-" in store.folder.name
        assert store.spec.mirrored
        assert not np.array_equal(plain.stores["pooled"].values, store.values)
        pixels = torch.from_numpy(small.preparation().open(records[1].image.read())).flip(-1)
        expected = small.encode(pixels, ["pooled"])["pooled"]
        torch.testing.assert_close(store.tensor(store.rows_for(records)[1:2]), expected, rtol=2e-3, atol=1e-3)

    def test_what_cannot_be_done_is_refused_at_once(
        self, small: Encoder, make_records: MakeRecords, tmp_path: Path
    ) -> None:
        for layouts in (["grid"], ["pooled", "nonsense"]):
            with pytest.raises(SeetellError):
                encode_dataset(make_records(1), small, layouts, root=tmp_path, preparation=small.preparation("ten"))
        assert content(tmp_path) == {}


SLOW_WRITER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
from conftest import record
from seetell.learn.encoders import Encoder, encode_dataset
from seetell.learn.encoders import extract, store

root, slow = Path(sys.argv[2]), float(sys.argv[3])
real = store._append

def slowly(path, data):
    # In two halves, so that a kill can fall between the first and the last byte.
    real(path, data[: len(data) // 2])
    time.sleep(slow)
    real(path, data[len(data) // 2 :])
    time.sleep(slow)

store._append = slowly
extract._IMAGES_A_COMMIT = 8
records = [record(seed) if seed % 7 else record(seed, b"no image %d" % seed) for seed in range(60)]
encoder = Encoder.load("test_efficientnet@random")
encode_dataset(records, encoder, ["pooled", "levels"], root=root, batch_size=1, threads=2)
"""


def writer(root: Path, slow: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SLOW_WRITER, str(Path(__file__).parent), str(root), str(slow)])


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill −9 on this system")
def test_killed_again_and_again_the_bytes_are_the_same(tmp_path: Path) -> None:
    assert writer(tmp_path / "whole", 0).wait(timeout=300) == 0
    expected = content(tmp_path / "whole")
    assert len([name for name in expected if name.endswith("values.bin")]) == 2

    root = tmp_path / "killed"
    for stop_at in (0.2, 0.7):
        process = writer(root, 0.05)
        deadline = time.monotonic() + 200
        while process.poll() is None and time.monotonic() < deadline:
            written = sum(path.stat().st_size for path in root.rglob("rows.txt"))
            if written >= stop_at * sum(len(data) for name, data in expected.items() if name.endswith("rows.txt")):
                os.kill(process.pid, signal.SIGKILL)
            time.sleep(0.005)
        assert process.wait() == -signal.SIGKILL
        assert content(root) != expected
    assert writer(root, 0).wait(timeout=300) == 0
    assert content(root) == expected
    key = image_key(b"no image 0")
    assert all(key.encode() not in data for data in expected.values())
