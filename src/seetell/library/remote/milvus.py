"""A client of a Milvus server: collections of image ids and embeddings.

A library `milvus://host:port/name` has one collection for each model, `name_` and the first digits of the model's
fingerprint; the alias `name` refers to the one in use. A collection's description records which model made its
embeddings and which library owns it, so that those of another model or another computer are never mixed with them.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seetell.errors import LibraryError, MissingExtraError
from seetell.library.location import MilvusAddress

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

CONNECT_TIMEOUT, TIMEOUT = 5.0, 60.0  # seconds
CONNECTIVITY, EXPANSION = 16, 128  # as in the index of a local library
_DELETE_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class Candidates:
    """Ids of images, the nearest first; the interface of usearch's results."""

    keys: Ids


class Milvus:
    """A connection to a server.

    Args:
        server: its address, and the name of the library.
    """

    def __init__(self, server: MilvusAddress) -> None:
        try:
            from pymilvus import MilvusClient
        except ImportError:
            raise MissingExtraError("pymilvus", "scale") from None
        self.server = server
        self.owner = ""  # identifies the one library that may write
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # problems are reported by our own errors
        address = f"http://{server.host}:{server.port}"
        with self._translated_errors("the Milvus server cannot be reached"):
            # A token is `user:password`. It is never part of the address, which appears in messages.
            token = os.environ.get("SEETELL_MILVUS_TOKEN", "")
            self._client: Any = MilvusClient(uri=address, token=token, timeout=CONNECT_TIMEOUT)

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(Exception):
            self._client.close()

    def collection(self, fingerprint: str) -> str:
        """The name of the collection for a model's fingerprint."""
        return f"{self.server.name}_{fingerprint[:12]}"

    def check_name(self) -> None:
        """Refuse a name that is used by anything but this library."""
        if self._has(self.server.name):
            self._check(self.server.name, self._about(self.server.name))

    def has(self, fingerprint: str) -> bool:
        """Whether there is a collection for a model; refuses one of another library or another model."""
        name = self.collection(fingerprint)
        if not self._has(name):
            return False
        about = self._about(name)
        self._check(name, about)
        found = about.get("model", about.get("bundle"))  # "bundle" in collections of earlier versions
        if found != fingerprint:
            raise LibraryError(
                f"the collection {name} holds embeddings of another model ({str(found)[:12]}); "
                "embeddings of two models cannot be compared",
                where=str(self.server),
                remedy="Choose another name, or drop that collection",
            )
        return True

    def create(self, fingerprint: str, dimensions: int, metric: str) -> None:
        """Create an empty collection for a model, replacing an existing one."""
        from pymilvus import DataType

        name = self.collection(fingerprint)
        about = json.dumps({"seetell": 1, "library": self.owner, "model": fingerprint})
        with self._translated_errors():
            self._drop(name)
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False, description=about)
            schema.add_field("image", DataType.INT64, is_primary=True)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
            index = self._client.prepare_index_params()
            params = {"M": CONNECTIVITY, "efConstruction": EXPANSION}
            index.add_index("vector", index_type="HNSW", metric_type=metric, params=params)
            self._client.create_collection(
                name, schema=schema, index_params=index, consistency_level="Strong", timeout=TIMEOUT
            )

    def load(self, fingerprint: str) -> None:
        """Load a collection into the server's memory, which is needed after a restart."""
        with self._translated_errors():
            self._client.load_collection(self.collection(fingerprint), timeout=TIMEOUT)

    def put(self, fingerprint: str, ids: Sequence[int], vectors: Floats) -> None:
        """Add embeddings, replacing those of the same images."""
        rows = [{"image": image, "vector": vector} for image, vector in zip(ids, vectors, strict=True)]
        with self._translated_errors():
            self._client.upsert(self.collection(fingerprint), rows, timeout=TIMEOUT)

    def remove(self, fingerprint: str, ids: Sequence[int]) -> None:
        """Remove the embeddings of images."""
        with self._translated_errors():
            for start in range(0, len(ids), _DELETE_CHUNK):
                some = list(ids[start : start + _DELETE_CHUNK])
                self._client.delete(self.collection(fingerprint), ids=some, timeout=TIMEOUT)

    def count(self, fingerprint: str) -> int:
        """How many embeddings a collection has."""
        with self._translated_errors():
            rows = self._client.query(
                self.collection(fingerprint), filter="", output_fields=["count(*)"], timeout=TIMEOUT
            )
            return int(rows[0]["count(*)"])

    def nearest(self, fingerprint: str, query: Floats, k: int, metric: str) -> Ids:
        """The ids of the k nearest images, best first."""
        with self._translated_errors():
            params = {"metric_type": metric, "params": {"ef": max(EXPANSION, k)}}
            (rows,) = self._client.search(
                self.collection(fingerprint), [query], limit=k, search_params=params, timeout=TIMEOUT
            )
            return np.array([row["id"] if "id" in row else row["image"] for row in rows], np.int64)

    def use(self, fingerprint: str, keep: Sequence[str] = ()) -> None:
        """Point the alias to a model's collection; drop all others of this library except those to keep."""
        name, kept = self.collection(fingerprint), {self.collection(each) for each in (fingerprint, *keep)}
        with self._translated_errors():
            if self._has(self.server.name):
                self._client.alter_alias(name, self.server.name, timeout=TIMEOUT)
            else:
                self._client.create_alias(name, self.server.name, timeout=TIMEOUT)
            for each in self._client.list_collections(timeout=TIMEOUT):
                old = each.startswith(f"{self.server.name}_") and each not in kept
                if old and self._about(each).get("library") == self.owner:
                    self._drop(each)

    def _has(self, name: str) -> bool:
        with self._translated_errors():
            return bool(self._client.has_collection(name, timeout=TIMEOUT))

    def _drop(self, name: str) -> None:
        if self._has(name):
            # A collection with an alias cannot be dropped.
            for alias in self._client.describe_collection(name, timeout=TIMEOUT).get("aliases", ()):
                self._client.drop_alias(alias, timeout=TIMEOUT)
            self._client.drop_collection(name, timeout=TIMEOUT)

    def _about(self, name: str) -> dict[str, Any]:
        with self._translated_errors(), contextlib.suppress(ValueError):
            found = json.loads(self._client.describe_collection(name, timeout=TIMEOUT).get("description", ""))
            if isinstance(found, dict):
                return found
        return {}

    def _check(self, name: str, about: dict[str, Any]) -> None:
        if about.get("library") == self.owner:
            return
        raise LibraryError(
            f"the collection {name} was not made by seetell"
            if "seetell" not in about
            else f"the collection {name} belongs to a seetell library on another computer",
            where=str(self.server),
            remedy="Choose another name, or search that library on its own computer or through its `seetell serve`",
        )

    @contextlib.contextmanager
    def _translated_errors(self, problem: str = "the request to the Milvus server failed") -> Iterator[None]:
        """Raise its errors as a `LibraryError` that names the remedy."""
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            why = " ".join(str(getattr(error, "message", "") or error).split())[:200]
            raise LibraryError(
                f"{problem} ({why})",
                where=str(self.server),
                remedy="Check that it runs at this address; set $SEETELL_MILVUS_TOKEN to user:password if it needs one",
            ) from None
