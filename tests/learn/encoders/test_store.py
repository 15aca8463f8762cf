import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from seetell.data import Record
from seetell.errors import SeetellError
from seetell.images import Preparation
from seetell.learn.encoders import FeatureStore, LayoutSpec, StoreSpec, default_root, space, store
from seetell.learn.encoders.keys import image_key

SPEC = StoreSpec(
    encoder="vgg16@weights.pth",
    encoder_fingerprint="0123456789abcdef",
    preparation=Preparation(size=224, resize=256),
    layout=LayoutSpec("grid", (2, 3), (3,), ("features.29",)),
    notes=("convolutions only",),
)
FILES = ("store.json", "rows.txt", "values.bin")


def key(number: int) -> str:
    return image_key(str(number).encode())


def keys(start: int, stop: int) -> list[str]:
    return [key(number) for number in range(start, stop)]


def values(start: int, stop: int) -> np.ndarray:
    return np.stack([np.full((2, 3), number) + np.arange(6).reshape(2, 3) / 10 for number in range(start, stop)])


def filled(root: Path, batches: list[int], spec: StoreSpec = SPEC) -> FeatureStore:
    opened = FeatureStore.open_or_create(root, spec)
    start = 0
    for size in batches:
        opened.append(keys(start, start + size), values(start, start + size))
        start += size
    return opened


def content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


class TestReading:
    @pytest.mark.parametrize("precision", ["float16", "float32"])
    def test_gives_back_what_was_put_in(self, tmp_path: Path, precision: str) -> None:
        spec = replace(SPEC, precision=precision)
        written = filled(tmp_path, [3, 1, 4], spec)
        opened = FeatureStore.open(written.folder)
        assert opened.spec == spec
        assert len(opened) == 8
        assert opened.bytes_on_disk == 8 * 6 * (2 if precision == "float16" else 4)
        assert opened.bytes_on_disk == (opened.folder / "values.bin").stat().st_size
        order = np.array([5, 0, 0, 7])
        found = opened.gather(opened.rows([key(number) for number in order]))
        assert found.dtype == precision
        np.testing.assert_array_equal(found, values(0, 8).astype(precision)[order])
        tensor = opened.tensor(order)
        assert tensor.dtype == torch.float32
        np.testing.assert_array_equal(tensor.numpy(), found.astype(np.float32))
        assert opened.verify() == []

    def test_is_mapped_not_loaded(self, tmp_path: Path) -> None:
        base = filled(tmp_path, [2]).values.base
        assert isinstance(base, np.memmap)

    def test_knows_what_it_has_not(self, tmp_path: Path) -> None:
        opened = filled(tmp_path, [2])
        assert opened.rows([key(1), key(99)]).tolist() == [1, -1]
        assert key(1) in opened
        assert key(99) not in opened
        for wrong in ([-1], [2]):
            with pytest.raises(IndexError):
                opened.gather(wrong)

    def test_an_empty_store_is_a_store(self, tmp_path: Path) -> None:
        opened = filled(tmp_path, [])
        assert len(FeatureStore.open(opened.folder)) == 0
        assert opened.gather([]).shape == (0, 2, 3)

    def test_sees_what_others_add(self, tmp_path: Path) -> None:
        writer = filled(tmp_path, [2])
        reader = FeatureStore.open(writer.folder)
        assert reader.values.shape == (2, 2, 3)
        writer.append(keys(2, 5), values(2, 5))
        reader.refresh()
        assert reader.values.shape == (5, 2, 3)
        assert reader.rows([key(4)]).tolist() == [4]

    def test_no_store_says_how_to_make_one(self, tmp_path: Path) -> None:
        with pytest.raises(SeetellError, match="seetell learn features"):
            FeatureStore.open(tmp_path / "nothing")

    def test_another_format_is_refused(self, tmp_path: Path) -> None:
        folder = filled(tmp_path, [1]).folder
        manifest = json.loads((folder / "store.json").read_text(encoding="utf-8"))
        for text, reason in (
            (json.dumps(manifest | {"format": 99}), "format 99"),
            ("{}", "not the description"),
            ("{", "not JSON"),
        ):
            (folder / "store.json").write_text(text, encoding="utf-8")
            with pytest.raises(SeetellError, match=reason):
                FeatureStore.open(folder)


class TestRecords:
    def test_rows_of_records(self, tmp_path: Path, make_record: Callable[..., Record]) -> None:
        records = [make_record(1), make_record(2), make_record(1), make_record(3, None), make_record(4, b"no image")]
        opened = FeatureStore.open_or_create(tmp_path, SPEC)
        opened.append([image_key(records[1].image.read()), image_key(records[0].image.read())], values(0, 2))
        assert opened.rows_for(records).tolist() == [1, 0, 1, -1, -1]

    def test_missing_features_name_the_command(self, tmp_path: Path, make_record: Callable[..., Record]) -> None:
        opened = FeatureStore.open_or_create(tmp_path, replace(SPEC, precision="float32"))
        with pytest.raises(SeetellError) as caught:
            opened.rows_for([make_record(4, b"no image"), make_record(1)])
        assert "2 of 2 images have no grid features" in caught.value.problem
        command = "seetell learn features DATASET --encoder vgg16@weights.pth --layout grid --precision float32 --store"
        assert command in caught.value.remedy


class TestIdentity:
    def test_everything_that_changes_values_changes_the_folder(self) -> None:
        others = [
            replace(SPEC, encoder_fingerprint="f" * 16),
            replace(SPEC, preparation=Preparation(size=224, resize=257)),
            replace(SPEC, layout=replace(SPEC.layout, layout="grid:4")),
            replace(SPEC, precision="float32"),
        ]
        assert len({each.folder for each in (SPEC, *others)}) == 5

    def test_where_the_weights_lay_does_not(self) -> None:
        assert replace(SPEC, encoder="vgg16@elsewhere.safetensors").folder == SPEC.folder
        assert SPEC.folder.startswith("vgg16-grid-float16-")

    def test_the_manifest_is_for_people_too(self, tmp_path: Path) -> None:
        manifest = json.loads((filled(tmp_path, []).folder / "store.json").read_text(encoding="utf-8"))
        assert manifest["encoder"] == "vgg16@weights.pth"
        assert manifest["row_bytes"] == 12
        assert manifest["preparation"]["resize"] == 256
        assert manifest["sections"] == [{"name": "features.29", "width": 3}]

    def test_the_place_can_be_told(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.delenv("SEETELL_STORE", raising=False)
        assert default_root().parts[-1] == "features"
        monkeypatch.setenv("SEETELL_STORE", str(tmp_path))
        assert default_root() == tmp_path


class TestAppending:
    def test_known_keys_are_left_out(self, tmp_path: Path) -> None:
        opened = filled(tmp_path, [3])
        opened.append([key(1), key(5), key(5)], values(5, 8))
        assert len(opened) == 4
        np.testing.assert_array_equal(opened.gather([1]), values(1, 2).astype(np.float16))
        before = content(opened.folder)
        opened.append(keys(0, 3), values(0, 3))
        assert content(opened.folder) == before

    def test_values_beyond_half_precision_are_refused(self, tmp_path: Path) -> None:
        large = values(0, 1).astype(np.float32)
        large[0, 1, 1] = -1e5
        opened = filled(tmp_path, [1])
        before = content(opened.folder)
        with pytest.raises(SeetellError, match=r"100,000 do not fit .*--precision float32"):
            opened.append([key(9)], large)
        assert content(opened.folder) == before
        FeatureStore.open_or_create(tmp_path, replace(SPEC, precision="float32")).append([key(9)], large)

    def test_what_is_not_a_number_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SeetellError, match="not finite"):
            filled(tmp_path, []).append([key(0)], np.full((1, 2, 3), np.nan, np.float32))

    def test_rows_of_another_shape_are_a_mistake(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="shape"):
            filled(tmp_path, []).append([key(0)], np.zeros((1, 3, 2), np.float32))

    def test_a_full_disk_is_said_and_nothing_is_half_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened = filled(tmp_path, [2])
        before = content(opened.folder)
        real = store._append

        def fail(path: Path, data: bytes) -> None:
            real(path, data[:1])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(store, "_append", fail)
        with pytest.raises(SeetellError, match="No space left"):
            opened.append(keys(2, 4), values(2, 4))
        monkeypatch.undo()
        FeatureStore.open_or_create(tmp_path, SPEC)
        assert content(opened.folder) == before

    def test_a_lock_that_is_never_given_back_is_said(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened = filled(tmp_path, [1])
        monkeypatch.setattr(store, "_LOCK_SECONDS", 0.1)
        with (
            store._locked(opened.folder),
            pytest.raises(SeetellError, match="another process has held"),
        ):
            filled(tmp_path, [1])


class TestKilled:
    """A writer that dies leaves the files as they were at some moment: any prefix of what it appended."""

    @pytest.fixture
    def whole(self, tmp_path: Path) -> Path:
        return filled(tmp_path / "whole", [3, 2, 4]).folder

    def left_behind(self, whole: Path, tmp_path: Path, *, rows: int, values_: int) -> Path:
        folder = tmp_path / "killed" / whole.name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(whole, folder)
        os.truncate(folder / "rows.txt", rows)
        os.truncate(folder / "values.bin", values_)
        return folder

    def moments(self, whole: Path) -> list[tuple[int, int, int]]:
        """(bytes of rows.txt, bytes of values.bin, rows that must be there): values first, then the line."""
        lines = (whole / "rows.txt").read_bytes().splitlines(keepends=True)
        found, rows, written, count = [], 0, 0, 0
        for line, size in zip(lines, (3, 2, 4), strict=True):
            end = written + size * SPEC.row_bytes
            found += [(rows, at, count) for at in range(written, end + 1)]
            found += [(rows + at, end, count) for at in range(1, len(line))]
            rows, written, count = rows + len(line), end, count + size
        return [*found, (rows, written, count)]

    def test_at_any_byte_only_the_batch_in_flight_is_lost(self, whole: Path, tmp_path: Path) -> None:
        expected = values(0, 9).astype(np.float16)
        for rows, written, count in self.moments(whole):
            folder = self.left_behind(whole, tmp_path, rows=rows, values_=written)
            before = content(folder)
            reader = FeatureStore.open(folder)
            assert len(reader) == count
            np.testing.assert_array_equal(reader.values, expected[:count])
            assert reader.verify() == []
            assert content(folder) == before  # reading repairs nothing: a writer may be at work

    def test_at_any_byte_a_second_run_gives_the_same_files(self, whole: Path, tmp_path: Path) -> None:
        expected = content(whole)
        for rows, written, count in self.moments(whole)[::3]:
            self.left_behind(whole, tmp_path, rows=rows, values_=written)
            opened = FeatureStore.open_or_create(tmp_path / "killed", SPEC)
            for start, stop in ((0, 3), (3, 5), (5, 9)):
                if start >= count:
                    opened.append(keys(start, stop), values(start, stop))
            assert content(opened.folder) == expected

    def test_while_the_manifest_was_written(self, tmp_path: Path) -> None:
        folder = tmp_path / SPEC.folder
        folder.mkdir()
        (folder / ".store.json.0a1b2c3d.part").write_text('{"form', encoding="utf-8")
        filled(tmp_path, [1])
        assert sorted(path.name for path in folder.iterdir()) == ["lock", "rows.txt", "store.json", "values.bin"]
        assert FeatureStore.open(folder).spec == SPEC

    def test_values_that_the_disk_lost_are_not_believed(self, whole: Path) -> None:
        os.truncate(whole / "values.bin", 4 * SPEC.row_bytes)
        assert len(FeatureStore.open(whole)) == 3

    def test_damaged_values_are_found(self, whole: Path) -> None:
        with (whole / "values.bin").open("rb+") as file:
            file.seek(4 * SPEC.row_bytes)
            file.write(b"\x01")
        assert FeatureStore.open(whole).verify() == ["rows 3 to 4 are damaged"]


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_store import SPEC, FeatureStore, keys, values
store = FeatureStore.open_or_create(Path(sys.argv[2]), SPEC)
for start in range(int(sys.argv[3]), 60, 3):
    store.append(keys(start, start + 5), values(start, start + 5))
"""


def test_several_writers_do_not_disturb_each_other(tmp_path: Path) -> None:
    here = str(Path(__file__).parent)
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, here, str(tmp_path), str(start)]) for start in (0, 1)]
    assert [writer.wait(timeout=300) for writer in writers] == [0, 0]
    opened = FeatureStore.open(tmp_path / SPEC.folder)
    assert opened.verify() == []
    assert len(opened) == 63
    np.testing.assert_array_equal(opened.gather(opened.rows(keys(0, 63))), values(0, 63).astype(np.float16))


class TestSpace:
    def test_what_the_disk_cannot_hold_is_refused(self, tmp_path: Path) -> None:
        free = shutil.disk_usage(tmp_path).free
        with pytest.raises(SeetellError, match=r"need .* TB.*--store"):
            space.check_space(tmp_path, free + 10**13)
        with pytest.raises(SeetellError, match="stay reserved"):
            space.check_space(tmp_path, free)

    def test_what_it_can_is_not(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(space.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**12, 0, 10**12))
        space.check_space(tmp_path, 9 * 10**11)

    @pytest.mark.parametrize(
        ("size", "text"), [(999, "999 bytes"), (207_360, "207.4 KB"), (1_677_749_760, "1.7 GB"), (2e15, "2,000.0 TB")]
    )
    def test_sizes_are_written_for_people(self, size: float, text: str) -> None:
        assert space.size_text(size) == text
