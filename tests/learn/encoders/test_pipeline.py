from collections.abc import Callable

import numpy as np
import pytest
import torch

from seetell.data import Record
from seetell.images import Preparation
from seetell.learn.encoders import Encoder
from seetell.learn.encoders.keys import image_key, image_keys
from seetell.learn.encoders.pipeline import EncodingPipeline, scale

MakeRecord = Callable[..., Record]


def with_keys(records: list[Record]) -> list[tuple[str, Record]]:
    return [(image_key(record.image.read()), record) for record in records]


class TestScale:
    @pytest.mark.parametrize("crops", ["centre", "ten"])
    @pytest.mark.parametrize(
        ("mean", "std"), [((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)), ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))]
    )
    def test_equals_the_preparations_own_to_the_last_bit(
        self, crops: str, mean: tuple[float, float, float], std: tuple[float, float, float]
    ) -> None:
        preparation = Preparation(size=16, resize=20, crops=crops, mean=mean, std=std)
        every = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 16, 16, 3)
        random = np.random.default_rng(0).integers(0, 256, (preparation.crop_count, 16, 16, 3), np.uint8)
        for pixels in (every, random):
            found = scale(torch.from_numpy(pixels), preparation)
            assert found.dtype == torch.float32
            np.testing.assert_array_equal(found.numpy(), preparation.scale(pixels))

    def test_keeps_channels_last_in_memory(self) -> None:
        pixels = torch.randint(0, 256, (2, 16, 16, 3), dtype=torch.uint8)
        scaled = scale(pixels, Preparation(size=16, resize=16))
        assert scaled.is_contiguous(memory_format=torch.channels_last)


class TestRun:
    def test_gives_what_preparing_and_encoding_one_by_one_gives(
        self, small: Encoder, make_records: Callable[[int], list[Record]]
    ) -> None:
        records = make_records(11)
        preparation = small.preparation()
        pipeline = EncodingPipeline(small, ["pooled", "grid"], preparation, batch_size=4, threads=2, device="cpu")
        found = list(pipeline.run(with_keys(records)))
        assert [len(each.keys) for each in found] == [4, 4, 3]
        assert [key for each in found for key in each.keys] == image_keys(records)
        for layout in ("pooled", "grid"):
            values = np.concatenate([each.values[layout] for each in found])
            for record, row in zip(records, values, strict=True):
                pixels = torch.from_numpy(preparation.open(record.image.read()))
                expected = small.encode(pixels, [layout])[layout][0]
                torch.testing.assert_close(torch.from_numpy(row), expected, rtol=1e-3, atol=1e-4)

    def test_ten_crops_are_averaged(self, small: Encoder, make_records: Callable[[int], list[Record]]) -> None:
        records = make_records(2)
        preparation = small.preparation("ten")
        (found,) = EncodingPipeline(small, ["levels"], preparation, batch_size=2, threads=1, device="cpu").run(
            with_keys(records)
        )
        for record, row in zip(records, found.values["levels"], strict=True):
            crops = torch.from_numpy(preparation.open(record.image.read()))
            expected = small.encode(crops, ["levels"])["levels"].mean(0)
            torch.testing.assert_close(torch.from_numpy(row), expected, rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("threads", [1, 3])
    def test_the_same_batches_give_the_same_bits(
        self, small: Encoder, make_records: Callable[[int], list[Record]], threads: int
    ) -> None:
        images = with_keys(make_records(10))
        whole = list(
            EncodingPipeline(small, ["full_network"], small.preparation(), batch_size=2, threads=2, device="cpu").run(
                images
            )
        )
        rest = EncodingPipeline(
            small, ["full_network"], small.preparation(), batch_size=2, threads=threads, device="cpu"
        ).run(images[4:])
        for first, second in zip(whole[2:], rest, strict=True):
            np.testing.assert_array_equal(first.values["full_network"], second.values["full_network"])

    def test_bad_images_are_named_and_do_not_fill_batches(self, small: Encoder, make_record: MakeRecord) -> None:
        records = [make_record(0), make_record(1, b"text"), make_record(2), make_record(3, b"\xff\xd8\xff cut off")]
        pipeline = EncodingPipeline(small, ["pooled"], small.preparation(), batch_size=2, threads=2, device="cpu")
        first, second = pipeline.run(with_keys(records))
        assert len(first.keys) == 2
        assert [each.where for each in first.unreadable.values()] == ["image-1.jpg"]
        assert second.keys == []
        assert [each.where for each in second.unreadable.values()] == ["image-3.jpg"]

    def test_an_image_that_changes_meanwhile_is_not_stored_under_the_old_key(
        self, small: Encoder, make_record: MakeRecord
    ) -> None:
        pipeline = EncodingPipeline(small, ["pooled"], small.preparation(), threads=1, device="cpu")
        (found,) = pipeline.run([(image_key(b"what it was"), make_record(0))])
        assert found.keys == []
        assert "changed" in next(iter(found.unreadable.values())).reason

    def test_stops_when_nobody_listens_any_more(self, small: Encoder, make_record: MakeRecord) -> None:
        read = []

        class Counting:
            def __init__(self, number: int) -> None:
                self.name, self.image = f"{number}", make_record(number).image

            def read(self) -> bytes:
                read.append(self.name)
                return self.image.read()

        images = [(image_key(make_record(i).image.read()), Record(f"{i}", Counting(i))) for i in range(100)]
        running = EncodingPipeline(small, ["pooled"], small.preparation(), batch_size=2, threads=2, device="cpu").run(
            images
        )
        next(running)
        running.close()
        assert len(read) < 40

    def test_leaves_pytorchs_threads_as_they_were(
        self, small: Encoder, make_records: Callable[[int], list[Record]]
    ) -> None:
        before = torch.get_num_threads()
        list(
            EncodingPipeline(small, ["pooled"], small.preparation(), threads=3, device="cpu").run(
                with_keys(make_records(3))
            )
        )
        assert torch.get_num_threads() == before


def test_an_unexpected_failure_is_not_swallowed(small: Encoder, make_records: Callable[[int], list[Record]]) -> None:
    class Broken:
        name = "broken"

        def read(self) -> bytes:
            raise ZeroDivisionError

    pipeline = EncodingPipeline(small, ["pooled"], small.preparation(), threads=1, device="cpu")
    with pytest.raises(ZeroDivisionError):
        list(pipeline.run([("0", Record("0", Broken()))]))
