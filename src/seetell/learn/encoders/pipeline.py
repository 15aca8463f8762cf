"""Images through a network with every core busy.

Images are read, decoded and prepared ahead of the network. On a CPU the network runs on several images in parallel, one
thread each: sharing a batch, the cores would wait for each other after every layer. On a GPU one thread feeds the
network while all cores decode.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ImageOps
from torch import Tensor

from seetell.data import Record, Skipped
from seetell.errors import ImageError
from seetell.images import Preparation, decode
from seetell.learn.encoders.devices import find_device
from seetell.learn.encoders.encoder import Encoder
from seetell.learn.encoders.engines import Features, TorchEngine, fastest_engine
from seetell.learn.encoders.keys import image_key, skipped
from seetell.progress import SILENT, Progress
from seetell.util import usable_cores

# Squares per batch. ONNX Runtime takes them one by one. PyTorch takes them at once, and on a CPU the intermediate
# results of more do not fit a core's cache: EfficientNet-Lite2 takes 39 ms per image in batches of 4, 63 ms in batches
# of 32.
CPU_BATCH = 4
GPU_BATCH = 64
_MOST_TORCH_WORKERS = 16  # each needs memory for the intermediate results of a batch

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(slots=True)
class Encoded:
    """Features of some images, and the images that could not be read; both by key."""

    keys: list[str] = field(default_factory=list)
    values: Features = field(default_factory=dict)
    unreadable: dict[str, Skipped] = field(default_factory=dict)


@dataclass(slots=True)
class _Batch:
    keys: list[str] = field(default_factory=list)
    pixels: list[NDArray[np.uint8]] = field(default_factory=list)  # crops × H × W × 3 each
    unreadable: dict[str, Skipped] = field(default_factory=dict)


class EncodingPipeline:
    """Reads, decodes, prepares and encodes images.

    Args:
        encoder: as loaded; the pipeline runs an optimised copy.
        layouts: computed in one pass.
        preparation: how images are prepared.
        mirrored: encode the mirrored images.
        batch_size: images that are encoded at once; None: what suits the device. Where PyTorch runs the network, the
            last digits of features depend on it.
        threads: None: one for each usable core.
        device: `cpu`, `cuda`, `mps`, or `auto` for a GPU if there is one.
        progress: gets a message if the network can only run slowly.
    """

    def __init__(
        self,
        encoder: Encoder,
        layouts: Sequence[str],
        preparation: Preparation,
        *,
        mirrored: bool = False,
        batch_size: int | None = None,
        threads: int | None = None,
        device: str = "auto",
        progress: Progress = SILENT,
    ) -> None:
        self.device = find_device(device)
        with single_threaded():
            self.engine = fastest_engine(encoder, layouts, preparation.size, self.device, progress)
        self.preparation, self.mirrored = preparation, mirrored
        squares = CPU_BATCH if self.device.type == "cpu" else GPU_BATCH
        self.batch_size = batch_size or max(1, squares // preparation.crop_count)
        threads = threads or usable_cores()
        self.workers = min(threads, _MOST_TORCH_WORKERS) if isinstance(self.engine, TorchEngine) else threads
        self.threads_each = max(1, threads // self.workers)

    def run(self, images: Iterable[tuple[str, Record]]) -> Iterator[Encoded]:
        """Encode images, given with their keys, in order: batches of `batch_size` readable images."""
        with single_threaded(), ExitStack() as stack:
            pool = _pool(stack, self.workers, self.threads_each)
            network_pool = pool if self.device.type == "cpu" else _pool(stack, 1, self.threads_each)
            prepared = _ahead(pool, self._prepare, images, 2 * self.workers * self.batch_size)
            batches = self._batches(prepared)
            # Enough in the queue that the network keeps running while the consumer waits for the disk.
            yield from _ahead(network_pool, self._encode, batches, 6 * self.workers)

    def _prepare(self, item: tuple[str, Record]) -> tuple[str, NDArray[np.uint8] | Skipped]:
        key, record = item
        name = record.image.name
        try:
            data = record.image.read()
            if image_key(data) != key:
                raise ImageError("it changed while it was being encoded", where=name)
            image = decode(data, name=name, at_least=self.preparation.resize)
            return key, self.preparation.pixels(ImageOps.mirror(image) if self.mirrored else image, name=name)
        except ImageError as error:
            return key, skipped(error)

    def _batches(self, prepared: Iterable[tuple[str, NDArray[np.uint8] | Skipped]]) -> Iterator[_Batch]:
        batch = _Batch()
        for key, pixels in prepared:
            if isinstance(pixels, Skipped):
                batch.unreadable[key] = pixels
                continue
            batch.keys.append(key)
            batch.pixels.append(pixels)
            if len(batch.keys) == self.batch_size:
                yield batch
                batch = _Batch()
        if batch.keys or batch.unreadable:
            yield batch

    def _encode(self, batch: _Batch) -> Encoded:
        if not batch.keys:
            return Encoded(unreadable=batch.unreadable)
        pixels = torch.from_numpy(np.stack(batch.pixels)).to(self.device)
        return Encoded(batch.keys, self.engine(scale(pixels, self.preparation)), batch.unreadable)


def scale(pixels: Tensor, preparation: Preparation) -> Tensor:
    """`Preparation.scale` for a batch, on its device: the same values to the last bit.

    Args:
        pixels: uint8, … × H × W × 3.
        preparation: whose mean and deviation are used.

    Returns:
        float32, … × 3 × H × W, with the channels last in memory.
    """
    width = pixels.shape[-2]
    # Whole rows of pixels at a time: broadcasting over three channels would take five times as long.
    lines = pixels.flatten(-2).to(torch.float32)
    mean = torch.tensor(preparation.mean, device=pixels.device).repeat(width)
    std = torch.tensor(preparation.std, device=pixels.device).repeat(width)
    scaled = lines.div_(255).sub_(mean).div_(std)
    return scaled.view(pixels.shape).movedim(-1, -3)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Run PyTorch on one thread, for work in which threads would only wait for each other.

    Threads started within the block use one as well.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _pool(stack: ExitStack, workers: int, threads_each: int) -> ThreadPoolExecutor:
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads_each,))
    stack.callback(pool.shutdown, cancel_futures=True)  # when interrupted, what is waiting is not started
    return pool


def _ahead(
    pool: ThreadPoolExecutor, function: Callable[[_Item], _Result], items: Iterable[_Item], window: int
) -> Iterator[_Result]:
    """`map` in a pool, in order, at most `window` items ahead of the consumer."""
    source = iter(items)
    futures: deque[Future[_Result]] = deque(pool.submit(function, item) for item in islice(source, window))
    while futures:
        result = futures.popleft().result()
        futures.extend(pool.submit(function, item) for item in islice(source, 1))
        yield result
