"""Images through a network with every core busy.

Images are read, decoded and prepared ahead of the network, and on a CPU the network runs on several images side by
side, one thread each: a batch that all cores share would have them wait for each other after every layer, and for the
one that is decoding at the moment. On a GPU one thread feeds the network while all cores decode.
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
from seetell.learn.encoders.encoder import Encoder
from seetell.learn.encoders.engines import Features, TorchEngine, fastest_engine
from seetell.learn.encoders.keys import image_key, skipped, usable_cores

# Squares in a batch. ONNX Runtime sees them one by one. PyTorch sees them at once, and on a CPU the intermediate
# results of more do not stay in a core's cache: EfficientNet-Lite2 takes 39 ms an image in batches of 4, and 63 ms in
# batches of 32.
CPU_BATCH = 4
GPU_BATCH = 64
_MOST_TORCH_WORKERS = 16  # each needs memory for the intermediate results of a batch

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(slots=True)
class Encoded:
    """Some images' features, and which of them could not be read; both by key."""

    keys: list[str] = field(default_factory=list)
    values: Features = field(default_factory=dict)
    unreadable: dict[str, Skipped] = field(default_factory=dict)


@dataclass(slots=True)
class _Batch:
    keys: list[str] = field(default_factory=list)
    pixels: list[NDArray[np.uint8]] = field(default_factory=list)  # crops × H × W × 3 each
    unreadable: dict[str, Skipped] = field(default_factory=dict)


class Pipeline:
    """Reads, decodes, prepares and encodes images.

    Args:
        encoder: as loaded; what runs is a copy made for it.
        layouts: which to read, in one pass.
        preparation: how images are prepared.
        mirrored: encode the images' mirror images.
        batch_size: images that are encoded in one go, if not what suits the device. Where PyTorch runs the network,
            the last digits of features depend on it.
        threads: how many to use; one for each core unless told.
        device: `cpu`, `cuda`, `mps`, or `auto` for the best there is.
        say: who is told if the network can only run slowly.
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
        say: Callable[[str], object] = lambda line: None,
    ) -> None:
        self.device = best_device() if device == "auto" else torch.device(device)
        with single_threaded():
            self.engine = fastest_engine(encoder, layouts, preparation.size, self.device, say)
        self.preparation, self.mirrored = preparation, mirrored
        squares = CPU_BATCH if self.device.type == "cpu" else GPU_BATCH
        self.batch_size = batch_size or max(1, squares // preparation.crop_count)
        threads = threads or usable_cores()
        self.workers = min(threads, _MOST_TORCH_WORKERS) if isinstance(self.engine, TorchEngine) else threads
        self.threads_each = max(1, threads // self.workers)

    def run(self, images: Iterable[tuple[str, Record]]) -> Iterator[Encoded]:
        """Encode images, given with their keys, in their order: batches of `batch_size` that can be read."""
        with single_threaded(), ExitStack() as stack:
            pool = _pool(stack, self.workers, self.threads_each)
            network_pool = pool if self.device.type == "cpu" else _pool(stack, 1, self.threads_each)
            prepared = _ahead(pool, self._prepare, images, 2 * self.workers * self.batch_size)
            batches = self._batches(prepared)
            # Enough waiting that nothing stands still while whoever takes the results waits for a disk.
            yield from _ahead(network_pool, self._encode, batches, 6 * self.workers)

    def _prepare(self, item: tuple[str, Record]) -> tuple[str, NDArray[np.uint8] | Skipped]:
        key, record = item
        name = record.image.name
        try:
            data = record.image.read()
            if image_key(data) != key:
                raise ImageError("it was changed while it was being encoded", where=name)
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
    """`Preparation.scale` for a batch, on its device, without moving a value: the same numbers to the last bit.

    Args:
        pixels: uint8, … × H × W × 3.
        preparation: whose mean and deviation are used.

    Returns:
        float32, … × 3 × H × W, with the channels last in memory.
    """
    width = pixels.shape[-2]
    # Whole lines at a time: three channels at a time would take five times as long.
    lines = pixels.flatten(-2).to(torch.float32)
    mean = torch.tensor(preparation.mean, device=pixels.device).repeat(width)
    std = torch.tensor(preparation.std, device=pixels.device).repeat(width)
    scaled = lines.div_(255).sub_(mean).div_(std)
    return scaled.view(pixels.shape).movedim(-1, -3)


@contextmanager
def single_threaded() -> Iterator[None]:
    """PyTorch on one thread: for work over which many threads would only wait for each other.

    Threads that are started meanwhile begin with one as well.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def best_device() -> torch.device:
    """A GPU if PyTorch can use one."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def _pool(stack: ExitStack, workers: int, threads_each: int) -> ThreadPoolExecutor:
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(threads_each,))
    stack.callback(pool.shutdown, cancel_futures=True)  # when it is interrupted, what waits is not begun
    return pool


def _ahead(
    pool: ThreadPoolExecutor, function: Callable[[_Item], _Result], items: Iterable[_Item], window: int
) -> Iterator[_Result]:
    """`map` in a pool, in order, never more than `window` items ahead of what has been taken."""
    source = iter(items)
    futures: deque[Future[_Result]] = deque(pool.submit(function, item) for item in islice(source, window))
    while futures:
        result = futures.popleft().result()
        futures.extend(pool.submit(function, item) for item in islice(source, 1))
        yield result
