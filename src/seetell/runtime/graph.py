"""One ONNX graph, ready to run: checked against the bundle's manifest, safe to call from many threads."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seetell.bundle import Bundle
from seetell.errors import BundleError

Arrays = Mapping[str, NDArray[Any]]


class Graph:
    """Runs in the calling thread only: parallelism is the caller's business, who knows what there is to do.

    Args:
        bundle: the bundle with the graph.
        name: the graph's file.
        inputs: every input that will be given; the graph need not use all of them.
        outputs: every output that is wanted.
    """

    def __init__(self, bundle: Bundle, name: str, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        import onnxruntime  # type: ignore[import-untyped,unused-ignore]

        self.where = str(bundle.path / name)
        self.outputs = list(outputs)
        data = bundle.graph(name)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors come back as exceptions
        # By default the first bytes decide, and bytes that are ONNX may look like the runtime's own format as well.
        options.add_session_config_entry("session.load_model_format", "ONNX")
        try:
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime raises a dozen kinds that have no common parent of their own
            raise self._wrong("cannot be loaded", error) from None
        self.inputs = [each.name for each in self._session.get_inputs()]
        missing = set(self.inputs) - set(inputs) or set(outputs) - {e.name for e in self._session.get_outputs()}
        if missing:
            raise BundleError(
                f"this graph does not match the manifest: {min(missing)!a}",
                where=self.where,
                remedy="Export the bundle again",
            )

    def __call__(self, values: Arrays) -> dict[str, NDArray[Any]]:
        given = {name: np.ascontiguousarray(values[name]) for name in self.inputs}
        try:
            found = self._session.run(self.outputs, given)
        except Exception as error:
            raise self._wrong("cannot be run", error) from None
        return dict(zip(self.outputs, found, strict=True))

    def _wrong(self, what: str, error: Exception) -> BundleError:
        line = str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
        return BundleError(f"this graph {what} ({line})", where=self.where, remedy="Export the bundle again")
