"""Export: trained runs become a model that runs without PyTorch, after verifying that it matches the checkpoints."""

from seetell.learn.exporting.build import build_bundle
from seetell.learn.exporting.compare import MismatchError
from seetell.learn.exporting.options import Exported, ExportOptions, Measurement, ModelInfo, QuantizationCost, Samples
from seetell.learn.exporting.runs import export
from seetell.learn.exporting.trained import Trained, open_runs

__all__ = [
    "ExportOptions",
    "Exported",
    "Measurement",
    "MismatchError",
    "ModelInfo",
    "QuantizationCost",
    "Samples",
    "Trained",
    "build_bundle",
    "export",
    "open_runs",
]
