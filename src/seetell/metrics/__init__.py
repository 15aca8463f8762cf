"""Metrics of retrieval, captions and labels. All but ranks, lengths and counts are percentages."""

from seetell.metrics.captions import (
    CaptionScores,
    Cider,
    CiderStatistics,
    Meteor,
    caption_scores,
    degenerate,
    diversity,
    next_word_accuracy,
    score_captions,
)
from seetell.metrics.flatten import flatten_metrics
from seetell.metrics.labels import label_scores, scores_by_class, scores_by_label_count, top_labels
from seetell.metrics.retrieval import RetrievalScores, retrieval_ranks, retrieval_scores, retrieval_scores_of_blocks

__all__ = [
    "CaptionScores",
    "Cider",
    "CiderStatistics",
    "Meteor",
    "RetrievalScores",
    "caption_scores",
    "degenerate",
    "diversity",
    "flatten_metrics",
    "label_scores",
    "next_word_accuracy",
    "retrieval_ranks",
    "retrieval_scores",
    "retrieval_scores_of_blocks",
    "score_captions",
    "scores_by_class",
    "scores_by_label_count",
    "top_labels",
]
