"""Caption metrics: BLEU, ROUGE-L, CIDEr, METEOR; diversity; and whether captions depend on the images at all."""

from seetell.metrics.captions.accuracy import next_word_accuracy
from seetell.metrics.captions.cider import Cider, CiderStatistics
from seetell.metrics.captions.diversity import degenerate, diversity
from seetell.metrics.captions.meteor import Meteor
from seetell.metrics.captions.scores import CaptionScores, caption_scores, score_captions

__all__ = [
    "CaptionScores",
    "Cider",
    "CiderStatistics",
    "Meteor",
    "caption_scores",
    "degenerate",
    "diversity",
    "next_word_accuracy",
    "score_captions",
]
