"""A dataset through a model to a report."""

from seetell.evaluation.bundles import Report, evaluate_bundle, spread

__all__ = ["Report", "evaluate_bundle", "spread"]
