"""Images per second from files to stored features, compared with the bare network on random tensors.

    python benchmarks/encode.py flickr8k:PATH [--encoder E] [--layout L]… [--count 1000] [--repetitions 3]

They are measured in turn in the same run, so that whatever else the machine does meets all. A bare network runs on
squares that are already in memory and scaled; nothing is decoded, kept or stored. There are two, both in PyTorch: the
network as timm gives it, called with batches that all cores share, which is what one gets by calling it; and the
network with its batch normalisations folded and a batch for each core, as it runs where no graph can be made of it.
The end-to-end time is all that `seetell learn features` does after loading the encoder: folding, making a graph for
ONNX Runtime, reading, hashing, decoding, preparing, encoding, storing.
"""

import argparse
import copy
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from seetell.data import Record, open_dataset
from seetell.images import decode
from seetell.learn.encoders import DEFAULT_ENCODER, Encoder, encode_dataset, open_stores
from seetell.learn.encoders.engines import fastest_engine
from seetell.learn.encoders.keys import image_key
from seetell.learn.encoders.pipeline import CPU_BATCH, scale
from seetell.util import usable_cores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--encoder", default=DEFAULT_ENCODER)
    parser.add_argument("--layout", action="append")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--batch", type=int, default=CPU_BATCH)
    arguments = parser.parse_args()

    layouts = arguments.layout or ["grid"]
    records = open_dataset(arguments.dataset).records[: arguments.count]
    encoder = Encoder.load(arguments.encoder)
    folded = encoder.for_inference()
    plain = copy.deepcopy(encoder).eval().to(memory_format=torch.channels_last)
    size = encoder.preparation().size
    squares = torch.rand(arguments.batch, 3, size, size).contiguous(memory_format=torch.channels_last)
    cores = usable_cores()
    print(f"{encoder.name}, {', '.join(layouts)}: {len(records)} images, batches of {arguments.batch}, {cores} cores")

    variants: dict[str, Callable[[tuple[Record, ...]], None]] = {
        "bare in PyTorch, as timm gives it": lambda some: bare(plain, squares, len(some), 1, cores),
        "bare in PyTorch, folded": lambda some: bare(folded, squares, len(some), cores, 1),
        "end to end": lambda some: end_to_end(some, encoder, layouts, arguments.batch),
    }
    rates: dict[str, list[float]] = {name: [] for name in variants}
    processor: dict[str, list[float]] = {name: [] for name in variants}
    for variant in variants.values():  # warm-up
        variant(records[:16])
    for repetition in range(arguments.repetitions):
        for name, variant in variants.items():
            wall, busy = time.perf_counter(), time.process_time()
            variant(records)
            rates[name].append(len(records) / (time.perf_counter() - wall))
            processor[name].append((time.process_time() - busy) * 1000 / len(records))
        done = ", ".join(f"{name} {rates[name][-1]:.1f}/s" for name in variants)
        print(f"repetition {repetition + 1}: {done}", flush=True)
    for name in variants:
        rate, busy = statistics.median(rates[name]), statistics.median(processor[name])
        print(f"{name}: {rate:.1f} images/s, {busy:.1f} ms of processor time per image (medians)")
    for name in list(variants)[:-1]:
        ratios = [end / bare for end, bare in zip(rates["end to end"], rates[name], strict=True)]
        print(f"end to end / {name}: {statistics.median(ratios):.3f} (from {min(ratios):.3f} to {max(ratios):.3f})")
    _, single, whole = (statistics.median(values) for values in processor.values())
    print(f"the latter by processor time, which other programs disturb less: {single / whole:.3f}")
    for name, milliseconds in stages(records[:64], encoder, layouts, arguments.batch).items():
        print(f"  {name}: {milliseconds:.2f} ms per image on one core")


def bare(encoder: Encoder, squares: torch.Tensor, count: int, workers: int, threads_each: int) -> None:
    """The network alone."""
    network = encoder.network

    def run(_: int) -> None:
        with torch.inference_mode():
            network.forward_head(network.forward_features(squares), pre_logits=True)  # type: ignore[operator]

    before = torch.get_num_threads()
    with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads_each,)) as pool:
        list(pool.map(run, range(-(-count // len(squares)))))
    torch.set_num_threads(before)


def end_to_end(records: tuple[Record, ...], encoder: Encoder, layouts: list[str], batch: int) -> None:
    """From files to stored features, in a store of its own."""
    with tempfile.TemporaryDirectory() as folder:
        report = encode_dataset(records, encoder, layouts, root=Path(folder), batch_size=batch, device="cpu")
        if report.unreadable:
            raise SystemExit(f"not all images can be read: {report.unreadable[0]}")


def stages(records: tuple[Record, ...], encoder: Encoder, layouts: list[str], batch: int) -> dict[str, float]:
    """What each step costs, one after another on one core: milliseconds per image."""
    preparation = encoder.preparation()
    spent: dict[str, float] = {}

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        spent[name] = spent.get(name, 0) + (time.perf_counter() - began) * 1000 / len(records)

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        stores = open_stores(encoder, layouts, Path(folder), preparation)
        began = time.perf_counter()
        engine = fastest_engine(encoder, layouts, preparation.size, torch.device("cpu"), print)
        print(f"{type(engine).__name__}, ready in {time.perf_counter() - began:.1f} s; of what it does then:")
        for start in range(0, len(records), batch):
            some = records[start : start + batch]
            with timed("read and hash (done twice)"):
                data = [record.image.read() for record in some]
                keys = [image_key(each) for each in data]
            with timed("decode"):
                images = [decode(each, at_least=preparation.resize) for each in data]
            with timed("resize and crop"):
                pixels = [preparation.pixels(image) for image in images]
            with timed("scale"):
                squares = scale(torch.from_numpy(np.stack(pixels)), preparation)
            with timed("network and layouts"):
                features = engine(squares)
            with timed("store (waits for the disk)"):
                for layout, store in stores.items():
                    store.append(keys, features[layout])
    torch.set_num_threads(before)
    return spent


if __name__ == "__main__":
    main()
