"""A Milvus server, as far as a library needs it: collections of images' numbers and embeddings.

A library `milvus://host:port/name` has one collection for each bundle, `name_` and the warm_start of the bundle's
fingerprint; the alias `name` stands for the one in use. A collection's description says which bundle its embeddings are
of and which library owns it, so that neither another bundle's nor another computer's are mixed with them.
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

from seetell.errors import MissingExtraError
from seetell.library.paths import Server
from seetell.library.records import LibraryError

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]

CONNECTING, ANSWERING = 5.0, 60.0  # seconds
CONNECTIVITY, EXPANSION = 16, 128  # as in the index of a library that is a folder
_DELETED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class Proposals:
    """Images' numbers, the nearest first."""

    keys: Ids


class Milvus:
    """A connection; `owner` is a name that belongs to one library alone, which may write."""

    def __init__(self, server: Server) -> None:
        try:
            from pymilvus import MilvusClient
        except ImportError:
            raise MissingExtraError("pymilvus", "scale") from None
        self.server, self.owner = server, ""
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)  # what goes wrong is said by our own errors
        address = f"http://{server.host}:{server.port}"
        with self._plainly("the Milvus server cannot be reached"):
            # A token is `user:password`, and never part of the address, which is printed.
            token = os.environ.get("SEETELL_MILVUS_TOKEN", "")
            self._client: Any = MilvusClient(uri=address, token=token, timeout=CONNECTING)

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._client.close()

    def collection(self, bundle: str) -> str:
        """The name of the collection for a bundle's fingerprint."""
        return f"{self.server.name}_{bundle[:12]}"

    def check_name(self) -> None:
        """Refuse a name that something else than this library has."""
        if self._has(self.server.name):
            self._check(self.server.name, self._about(self.server.name))

    def has(self, bundle: str) -> bool:
        """Whether there is a collection for a bundle; refuses one that is not this library's, or another bundle's."""
        name = self.collection(bundle)
        if not self._has(name):
            return False
        about = self._about(name)
        self._check(name, about)
        if about.get("bundle") != bundle:
            raise LibraryError(
                f"the collection {name} holds embeddings of another bundle ({str(about.get('bundle'))[:12]}); "
                "embeddings of two bundles cannot be compared",
                where=str(self.server),
                remedy="Choose another name, or drop that collection",
            )
        return True

    def create(self, bundle: str, dimensions: int, metric: str) -> None:
        """An empty collection for a bundle, in the place of the one that is there."""
        from pymilvus import DataType

        name = self.collection(bundle)
        about = json.dumps({"seetell": 1, "library": self.owner, "bundle": bundle})
        with self._plainly():
            self._drop(name)
            schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False, description=about)
            schema.add_field("image", DataType.INT64, is_primary=True)
            schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimensions)
            index = self._client.prepare_index_params()
            params = {"M": CONNECTIVITY, "efConstruction": EXPANSION}
            index.add_index("vector", index_type="HNSW", metric_type=metric, params=params)
            self._client.create_collection(
                name, schema=schema, index_params=index, consistency_level="Strong", timeout=ANSWERING
            )

    def load(self, bundle: str) -> None:
        """Make a collection searchable, as after a restart of the server."""
        with self._plainly():
            self._client.load_collection(self.collection(bundle), timeout=ANSWERING)

    def put(self, bundle: str, ids: Sequence[int], vectors: Floats) -> None:
        """Add embeddings; those that are there already are replaced."""
        rows = [{"image": number, "vector": vector} for number, vector in zip(ids, vectors, strict=True)]
        with self._plainly():
            self._client.upsert(self.collection(bundle), rows, timeout=ANSWERING)

    def remove(self, bundle: str, ids: Sequence[int]) -> None:
        with self._plainly():
            for begin in range(0, len(ids), _DELETED_AT_ONCE):
                some = list(ids[begin : begin + _DELETED_AT_ONCE])
                self._client.delete(self.collection(bundle), ids=some, timeout=ANSWERING)

    def count(self, bundle: str) -> int:
        with self._plainly():
            rows = self._client.query(self.collection(bundle), filter="", output_fields=["count(*)"], timeout=ANSWERING)
            return int(rows[0]["count(*)"])

    def nearest(self, bundle: str, question: Floats, k: int, metric: str) -> Ids:
        with self._plainly():
            params = {"metric_type": metric, "params": {"ef": max(EXPANSION, k)}}
            (rows,) = self._client.search(
                self.collection(bundle), [question], limit=k, search_params=params, timeout=ANSWERING
            )
            return np.array([row["id"] if "id" in row else row["image"] for row in rows], np.int64)

    def use(self, bundle: str, keep: Sequence[str] = ()) -> None:
        """Let the alias stand for a bundle's collection; drop all others of this library but those to keep."""
        name, kept = self.collection(bundle), {self.collection(each) for each in (bundle, *keep)}
        with self._plainly():
            if self._has(self.server.name):
                self._client.alter_alias(name, self.server.name, timeout=ANSWERING)
            else:
                self._client.create_alias(name, self.server.name, timeout=ANSWERING)
            for each in self._client.list_collections(timeout=ANSWERING):
                old = each.startswith(f"{self.server.name}_") and each not in kept
                if old and self._about(each).get("library") == self.owner:
                    self._drop(each)

    def _has(self, name: str) -> bool:
        with self._plainly():
            return bool(self._client.has_collection(name, timeout=ANSWERING))

    def _drop(self, name: str) -> None:
        if self._has(name):
            # A collection that an alias stands for cannot be dropped.
            for alias in self._client.describe_collection(name, timeout=ANSWERING).get("aliases", ()):
                self._client.drop_alias(alias, timeout=ANSWERING)
            self._client.drop_collection(name, timeout=ANSWERING)

    def _about(self, name: str) -> dict[str, Any]:
        with self._plainly(), contextlib.suppress(ValueError):
            found = json.loads(self._client.describe_collection(name, timeout=ANSWERING).get("description", ""))
            if isinstance(found, dict):
                return found
        return {}

    def _check(self, name: str, about: dict[str, Any]) -> None:
        if about.get("library") == self.owner:
            return
        raise LibraryError(
            f"the collection {name} is not seetell's"
            if "seetell" not in about
            else f"the collection {name} belongs to another seetell library, whose captions and tags are elsewhere",
            where=str(self.server),
            remedy="Choose another name; a library of another computer is searched there, or with `seetell serve`",
        )

    @contextlib.contextmanager
    def _plainly(self, problem: str = "the Milvus server does not do what it was asked") -> Iterator[None]:
        """Its errors as a `LibraryError` that says what to do."""
        import grpc
        from pymilvus.exceptions import MilvusException

        try:
            yield
        except (MilvusException, grpc.RpcError, grpc.FutureTimeoutError) as error:
            why = " ".join(str(getattr(error, "message", "") or error).split())[:200]
            raise LibraryError(
                f"{problem} ({why})",
                where=str(self.server),
                remedy="See that it runs at this address; a password goes into $SEETELL_MILVUS_TOKEN as user:password",
            ) from None
