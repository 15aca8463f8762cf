"""Small tools that every layer uses: usable cores, even samples, a bounded cache."""

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def usable_cores() -> int:
    """How many cores this process may use: its CPU affinity, or fewer if OMP_NUM_THREADS says so."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(cores, int(wanted)) if wanted.isdigit() and int(wanted) > 0 else cores


def evenly_spaced(count: int, limit: int | None) -> list[int]:
    """At most `limit` of the indices 0 … count − 1, evenly spaced, first and last included.

    Example:
        >>> evenly_spaced(10, 3)
        [0, 4, 9]
    """
    if limit is None or limit >= count:
        return list(range(count))
    if limit <= 0:
        return []
    if limit == 1:
        return [0]
    return sorted({round(index * (count - 1) / (limit - 1)) for index in range(limit)})


def sample_evenly(items: Sequence[Item], limit: int | None) -> list[Item]:
    """At most `limit` items of a sequence, evenly spaced."""
    return [items[index] for index in evenly_spaced(len(items), limit)]


class LruCache(Generic[Key, Item]):
    """A thread-safe cache that forgets what was used least recently.

    Args:
        most: how many items it keeps.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: OrderedDict[Key, Item] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: Key) -> Item | None:
        with self._lock:
            if key not in self._items:
                return None
            self._items.move_to_end(key)
            return self._items[key]

    def put(self, key: Key, item: Item) -> None:
        with self._lock:
            self._items[key] = item
            self._items.move_to_end(key)
            while len(self._items) > self._most:
                self._items.popitem(last=False)

    def clear(self) -> None:
        with self._lock:
            self._items.clear()
