"""The `loss` table of a recipe's phases, one struct per kind of loss. No PyTorch here: reading recipes stays cheap.

`seetell.learn.losses` has the classes: `RANKING_LOSSES`, `CAPTION_LOSSES` and `TAG_LOSSES` map each kind to its struct
and its class.
"""

from typing import Annotated, Literal

from msgspec import Meta, field

from seetell.learn.recipes.decoding import Positive
from seetell.learn.recipes.model_settings import Share
from seetell.settings import Settings

NotNegative = Annotated[float, Meta(ge=0)]
Above0 = Annotated[float, Meta(gt=0)]
Reduction = Literal["sum", "mean", "mean_nonzero"]
SelectionName = Literal["all", "hard_and_semi_hard", "hard", "semi_hard", "k_hardest", "hardest_anchor"]
Per = Literal["word", "sentence"]
LabelOrder = Literal["frequency", "rare_first", "alphabetical", "random"]


class LossSettings(Settings, frozen=True, tag_field="kind"):
    """Base class of the losses' settings."""

    @property
    def kind(self) -> str:
        """The name of the loss in recipes."""
        return str(self.__struct_config__.tag)


class SumOfHingesSettings(LossSettings, frozen=True, tag="sum"):
    """Settings of `SumOfHinges`."""

    margin: NotNegative = 0.2
    reduction: Reduction = "sum"


class MaxOfHingesSettings(LossSettings, frozen=True, tag="max"):
    """Settings of `MaxOfHinges`."""

    margin: NotNegative = 0.2
    reduction: Reduction = "sum"


class TripletSettings(LossSettings, frozen=True, tag="triplet"):
    """Settings of `TripletLoss`, with the negative selection by name.

    Args:
        margin: m.
        selection: which negatives count; see `seetell.learn.losses.SELECTIONS`.
        k: how many negatives `selection = "k_hardest"` takes; 1 by default.
        lambda_: λ, the weight of the direction from text to image; `lambda` in recipes.
        reduction: how hinges are combined; by default as in the selection's paper.
    """

    margin: NotNegative = 0.1
    selection: SelectionName = "all"
    k: Positive | None = None
    lambda_: NotNegative = field(default=1.0, name="lambda")
    reduction: Reduction | None = None

    def __post_init__(self) -> None:
        if self.k is not None and self.selection != "k_hardest":
            raise ValueError(f"k belongs to the selection 'k_hardest', not to {self.selection!r}")


class ContrastiveSettings(LossSettings, frozen=True, tag="contrastive"):
    """Settings of `Contrastive`."""

    temperature: Above0 = 0.07
    lowest: Above0 = 0.01
    learned: bool = True

    def __post_init__(self) -> None:
        if self.lowest > self.temperature:
            raise ValueError(f"temperature {self.temperature} is below its lowest value, {self.lowest}")


class CrossEntropySettings(LossSettings, frozen=True, tag="cross_entropy"):
    """Maximum likelihood of captions.

    Args:
        smoothing: share of each target's probability that is spread over the vocabulary.
        per: mean over words or over sentences; the paper's λ belongs to sentences.
        doubly_stochastic: λ of `DoublyStochastic`; 0: no such term.
        sampling: scheduled sampling: the share of input words replaced by samples of the model's own predictions.
    """

    smoothing: Share = 0.0
    per: Per = "word"
    doubly_stochastic: NotNegative = 0.0
    sampling: Share = 0.0


class HardAttentionSettings(LossSettings, frozen=True, tag="hard_attention"):
    """Settings of `HardAttentionRule`."""

    lambda_r: float = 1.0
    lambda_e: float = 0.01
    decay: Share = 0.9
    baseline: Per = "sentence"
    per: Per = "sentence"


class RewardWeights(Settings, frozen=True):
    """The weight of each metric in the reward of a sampled caption; metrics count from 0 to 1, CIDEr to 10."""

    cider: NotNegative = 0.0
    bleu4: NotNegative = 0.0


class SelfCriticalSettings(LossSettings, frozen=True, tag="self_critical"):
    """Self-critical training of a captioner.

    Args:
        samples: how many captions are sampled per image.
        baseline: "others" (the mean reward of an image's other samples) or "greedy".
        reward: the weight of each metric.
        likelihood: weight of −log p(y | a), which preserves the language.
        temperature: logits are divided by this before sampling.
    """

    samples: Positive = 5
    baseline: Literal["others", "greedy"] = "others"
    reward: RewardWeights = RewardWeights(cider=1.0)
    likelihood: NotNegative = 0.0
    temperature: Above0 = 1.0

    def __post_init__(self) -> None:
        if self.baseline == "others" and self.samples < 2:
            raise ValueError("a single sample has no others to compare with: set baseline = 'greedy'")
        if not (self.reward.cider or self.reward.bleu4):
            raise ValueError("every metric of the reward has weight 0")


class LabelSequenceLossSettings(LossSettings, frozen=True, tag="sequence"):
    """Cross-entropy over the labels of an image, one after another.

    Args:
        order: the order of an image's labels.
        smoothing: share of each target's probability that is spread over the vocabulary.
    """

    order: LabelOrder = "frequency"
    smoothing: Share = 0.0


class BinaryCrossEntropySettings(LossSettings, frozen=True, tag="bce"):
    """`BinaryCrossEntropy` has no settings."""


class SoftmaxSettings(LossSettings, frozen=True, tag="softmax"):
    """`Softmax` has no settings."""


class WarpSettings(LossSettings, frozen=True, tag="warp"):
    """Settings of `Warp`."""

    margin: NotNegative = 1.0
    sampled: bool = False


class FocalSettings(LossSettings, frozen=True, tag="focal"):
    """Settings of `Focal`."""

    gamma: NotNegative = 2.0
    alpha: Share | None = None


class AsymmetricSettings(LossSettings, frozen=True, tag="asymmetric"):
    """Settings of `Asymmetric`."""

    gamma_positive: NotNegative = 0.0
    gamma_negative: NotNegative = 4.0
    margin: Annotated[float, Meta(ge=0, lt=1)] = 0.05


def _by_kind(*kinds: type[LossSettings]) -> dict[str, type[LossSettings]]:
    return {kind().kind: kind for kind in kinds}


RANKING_LOSS_SETTINGS = _by_kind(SumOfHingesSettings, MaxOfHingesSettings, TripletSettings, ContrastiveSettings)
CAPTION_LOSS_SETTINGS = _by_kind(CrossEntropySettings, HardAttentionSettings, SelfCriticalSettings)
SEQUENCE_LOSS_SETTINGS = _by_kind(LabelSequenceLossSettings)
TAG_LOSS_SETTINGS = _by_kind(
    BinaryCrossEntropySettings, SoftmaxSettings, WarpSettings, FocalSettings, AsymmetricSettings
)
