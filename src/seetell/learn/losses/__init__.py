"""Losses: ranking with its similarities and negative selections, captions, tags; and the detector of collapse.

Every class can be used alone, in any PyTorch program::

    from seetell.learn.losses import KHardest, TripletLoss, cosine, positive_mask

    loss = TripletLoss(margin=0.2, selection=KHardest(10))
    loss(cosine(images, texts), positive_mask(image_ids, caption_image_ids)).backward()

`RANKING_LOSSES`, `CAPTION_LOSSES`, `TAG_LOSSES`, `SELECTIONS` and `SIMILARITIES` map the names used in recipes to them.
A loss of your own takes two steps: a `LossSettings` struct with a `tag`, and a module; then add both to one of these,
and the struct to the settings of its task (`seetell.learn.recipes.loss_settings`).
"""

import msgspec
from torch import nn

from seetell.errors import SeetellError, did_you_mean
from seetell.learn.losses.captions import (
    CAPTION_LOSSES,
    CrossEntropy,
    DoublyStochastic,
    HardAttentionRule,
    SelfCritical,
    others_mean,
    word_log_likelihoods,
)
from seetell.learn.losses.collapse import CollapseDetector, started_above
from seetell.learn.losses.ranking import (
    RANKING_LOSSES,
    Contrastive,
    MaxOfHinges,
    SumOfHinges,
    TripletLoss,
    positive_mask,
    triplet_loss,
)
from seetell.learn.losses.selection import (
    SELECTIONS,
    All,
    HardAndSemiHard,
    HardestAnchor,
    HardOnly,
    KHardest,
    Selection,
    SemiHardOnly,
)
from seetell.learn.losses.similarity import SIMILARITIES, cosine, euclidean, order, similarity_by_name
from seetell.learn.losses.tags import TAG_LOSSES, Asymmetric, BinaryCrossEntropy, Focal, Softmax, Warp
from seetell.learn.recipes.loss_settings import LossSettings, TripletSettings

__all__ = [
    "CAPTION_LOSSES",
    "RANKING_LOSSES",
    "SELECTIONS",
    "SIMILARITIES",
    "TAG_LOSSES",
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
    "Selection",
    "SelfCritical",
    "SemiHardOnly",
    "Softmax",
    "SumOfHinges",
    "TripletLoss",
    "Warp",
    "cosine",
    "euclidean",
    "make_loss",
    "order",
    "others_mean",
    "positive_mask",
    "similarity_by_name",
    "started_above",
    "word_log_likelihoods",
]


def make_loss(settings: LossSettings) -> nn.Module:
    """The ranking or tag loss that a recipe's `loss` table describes.

    Args:
        settings: of one kind of loss.

    Example:
        >>> from seetell.learn.recipes.loss_settings import SumOfHingesSettings
        >>> make_loss(SumOfHingesSettings(margin=0.05)).margin
        0.05
    """
    if isinstance(settings, TripletSettings):
        return triplet_loss(settings)
    kinds = {**RANKING_LOSSES, **TAG_LOSSES}
    if settings.kind not in kinds:
        raise SeetellError(
            f"there is no ranking or tag loss {settings.kind!r}", remedy=did_you_mean(settings.kind, kinds)
        )
    _, kind = kinds[settings.kind]
    return kind(**msgspec.structs.asdict(settings))
