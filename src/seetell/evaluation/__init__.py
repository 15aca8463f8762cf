"""A dataset through a model to a report."""

from seetell.evaluation.bundles import Report, evaluate_bundle
from seetell.evaluation.options import EvaluationOptions

__all__ = ["EvaluationOptions", "Report", "evaluate_bundle"]
