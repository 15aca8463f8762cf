"""Losses: ranking with its similarities and negative selection, captions, tags; and the detector of collapse."""

from seetell.learn.losses.captions import (
    CrossEntropy,
    DoublyStochastic,
    HardAttentionRule,
    SelfCritical,
    others_mean,
    word_log_likelihoods,
)
from seetell.learn.losses.collapse import CollapseDetector, started_above
from seetell.learn.losses.ranking import (
    Contrastive,
    MaxOfHinges,
    SumOfHinges,
    TripletLoss,
    positive_mask,
    ranking_loss,
)
from seetell.learn.losses.selection import All, HardAndSemiHard, HardestAnchor, HardOnly, KHardest, SemiHardOnly
from seetell.learn.losses.similarity import cosine, euclidean, order, similarity_by_name
from seetell.learn.losses.tags import Asymmetric, BinaryCrossEntropy, Focal, Softmax, Warp, tag_loss

__all__ = [
    "All",
    "Asymmetric",
    "BinaryCrossEntropy",
    "CollapseDetector",
    "Contrastive",
    "CrossEntropy",
    "DoublyStochastic",
    "Focal",
    "HardAndSemiHard",
    "HardAttentionRule",
    "HardOnly",
    "HardestAnchor",
    "KHardest",
    "MaxOfHinges",
    "SelfCritical",
    "SemiHardOnly",
    "Softmax",
    "SumOfHinges",
    "TripletLoss",
    "Warp",
    "cosine",
    "euclidean",
    "order",
    "others_mean",
    "positive_mask",
    "ranking_loss",
    "similarity_by_name",
    "started_above",
    "tag_loss",
    "word_log_likelihoods",
]
