"""The `[model]` table of a recipe, one struct per kind of model. No PyTorch here: reading a recipe must stay cheap.

`seetell.learn.models.MODELS` maps each kind to its struct and to the class that is built from it.
"""

from typing import Annotated, Literal

from msgspec import Meta

from seetell.learn.recipes.decoding import Count, Positive
from seetell.settings import Settings

Share = Annotated[float, Meta(ge=0, le=1)]
SimilarityName = Literal["cosine", "order", "euclidean"]


class ModelSettings(Settings, frozen=True, tag_field="kind"):
    """Base class of the models' settings."""

    @property
    def kind(self) -> str:
        """The name of the model in recipes."""
        return str(self.__struct_config__.tag)


class TwoBranchSettings(ModelSettings, frozen=True, tag="two_branch"):
    """The two-branch network of Kolluru.

    Args:
        layers: widths of each branch's layers; the last is that of the shared space.
        dropout: share of units dropped after each ReLU.
        word_dimensions: width of a learned word vector; pre-trained ones have their own.
        similarity: the score that compares embeddings.
    """

    layers: Annotated[tuple[Positive, ...], Meta(min_length=1)] = (2048, 512)
    dropout: Share = 0.5
    word_dimensions: Positive = 300
    similarity: SimilarityName = "euclidean"


class VisualSemanticSettings(ModelSettings, frozen=True, tag="visual_semantic"):
    """The visual-semantic embedding of Vilalta et al.

    Args:
        dimensions: width of the shared space, which is also the number of GRU units.
        word_dimensions: width of a learned word vector; pre-trained ones have their own.
        absolute: take absolute values of both embeddings.
        similarity: the score that compares embeddings.
        image_dropout: on the image features; none in the paper. Prevents overfitting a wide input on a small dataset.
        text_dropout: likewise, on the word vectors.
    """

    dimensions: Positive = 1024
    word_dimensions: Positive = 300
    absolute: bool = False
    similarity: SimilarityName = "cosine"
    image_dropout: Share = 0.0
    text_dropout: Share = 0.0


class AttentiveMatchSettings(ModelSettings, frozen=True, tag="attentive_match"):
    """Attention pooling on both sides of a two-tower network.

    Args:
        dimensions: width of the shared space.
        hidden: width in which the grid is pooled.
        word_dimensions: width of a word vector.
        units: GRU units per direction.
        looks: how many attention queries each side has.
        image_dropout: on the annotation vectors.
        text_dropout: on the word vectors and on the GRU's states.
    """

    dimensions: Positive = 1024
    hidden: Positive = 1024
    word_dimensions: Positive = 300
    units: Positive = 512
    looks: Positive = 4
    image_dropout: Share = 0.3
    text_dropout: Share = 0.3


class SentenceMatchSettings(ModelSettings, frozen=True, tag="sentence_match"):
    """Features of all layers matched with a sentence encoder.

    Args:
        dimensions: width of the embeddings, all pairs together.
        hidden: width of each pair's hidden layer.
        pairs: how many pairs of networks are trained, each by its own loss.
        image_dropout: on the image side.
        text_dropout: on the text side.
        trained_layers: how many of the sentence encoder's last layers are fine-tuned jointly.
        text_learning_rate: their learning rate.
    """

    dimensions: Positive = 768
    hidden: Positive = 1024
    pairs: Positive = 1
    image_dropout: Share = 0.5
    text_dropout: Share = 0.5
    trained_layers: Count = 0
    text_learning_rate: Annotated[float, Meta(gt=0)] = 1e-4

    def __post_init__(self) -> None:
        if self.dimensions % self.pairs:
            raise ValueError(f"{self.dimensions} dimensions cannot be divided among {self.pairs} pairs")


class AttendSettings(ModelSettings, frozen=True, tag="attend"):
    """The attention captioner of Xu et al.

    Args:
        attention: "soft" or "hard".
        gate: let the gate β scale the context.
        expected: hard attention: the share of images whose location is replaced by its expectation in training.
        units: LSTM units.
        word_dimensions: width of a learned word vector; pre-trained ones have their own.
        attention_dimensions: width of the attention's hidden layer.
        annotation_dimensions: map annotation vectors to this width first; 0: do not.
        dropout: on h_t and on the deep output layer.
        word_dropout: on the word vectors that are read.
        image_dropout: on the annotation vectors.
        levels_dropout: on the features of the network's stages.
        freeze: keep pre-trained word vectors fixed.
        tied: share weights between word vectors and output layer; word vectors must then be trained.
    """

    attention: Literal["soft", "hard"] = "soft"
    gate: bool = True
    expected: Share = 0.5
    units: Positive = 512
    word_dimensions: Positive = 512
    attention_dimensions: Positive = 512
    annotation_dimensions: Count = 0
    dropout: Share = 0.5
    word_dropout: Share = 0.0
    image_dropout: Share = 0.0
    levels_dropout: Share = 0.3
    freeze: bool = False
    tied: bool = False


class MergeSettings(ModelSettings, frozen=True, tag="merge"):
    """The merge captioner of Vaishali.

    Args:
        units: width of both sides, and of the layer over their sum.
        word_dimensions: width of a learned word vector; pre-trained ones have their own.
        dropout: on the image and on words.
        freeze: keep pre-trained word vectors fixed, as the paper does.
    """

    units: Positive = 256
    word_dimensions: Positive = 50
    dropout: Share = 0.5
    freeze: bool = True


class InitialSettings(ModelSettings, frozen=True, tag="initial"):
    """The CNN-LSTM captioner.

    Args:
        units: LSTM units.
        word_dimensions: width of a learned word vector; pre-trained ones have their own.
        dropout: on the image, on words, and on the LSTM's outputs.
        freeze: keep pre-trained word vectors fixed.
    """

    units: Positive = 512
    word_dimensions: Positive = 512
    dropout: Share = 0.3
    freeze: bool = False


class ConvolutionalSettings(ModelSettings, frozen=True, tag="convolutional"):
    """The CNN-CNN captioner.

    Args:
        width: of every layer.
        layers: how many.
        kernel: how many positions a convolution sees: its own and those before it.
        word_dimensions: width of a learned word vector; pre-trained ones have their own.
        dropout: on word vectors, on each layer's inputs and on the output layer's.
        freeze: keep pre-trained word vectors fixed.
    """

    width: Positive = 512
    layers: Positive = 3
    kernel: Positive = 5
    word_dimensions: Positive = 512
    dropout: Share = 0.2
    freeze: bool = False


LabelPart = Literal["joint", "init-hidden", "init-both", "init-input", "seq2seq-shared", "seq2seq-separate"]


class LabelSequenceSettings(ModelSettings, frozen=True, tag="label_sequence"):
    """The label-sequence models of Ren.

    Args:
        part: "joint"; "init-hidden", "init-both" or "init-input", by what the image initialises in the LSTM;
            "seq2seq-shared" or "seq2seq-separate", by whether one LSTM reads the levels and generates the labels.
        attention: attend to the levels, or to the outputs of the LSTM that has read them.
        units: LSTM units.
        label_dimensions: width of a label embedding; pre-trained ones have their own.
        attention_dimensions: width of the attention's hidden layer.
        dropout: on the LSTM's inputs and outputs.
        image_dropout: on the image features.
    """

    part: LabelPart = "seq2seq-shared"
    attention: bool = False
    units: Positive = 512
    label_dimensions: Positive = 100
    attention_dimensions: Positive = 512
    dropout: Share = 0.0
    image_dropout: Share = 0.5


class ClassifierSettings(ModelSettings, frozen=True, tag="classifier"):
    """A linear layer over the network's final vector.

    Args:
        dropout: on the features.
        activation: what turns logits into confidences: "sigmoid", per label, or "softmax".
    """

    dropout: Share = 0.5
    activation: Literal["sigmoid", "softmax"] = "sigmoid"


class GridClassifierSettings(ModelSettings, frozen=True, tag="grid_classifier"):
    """Class-specific residual attention over the grid.

    Args:
        window: average this many by this many locations of a square grid, with a stride of two; 1: do not.
        hidden: width of the hidden layer; 0: none.
        temperatures: T of each head.
        weight: λ.
        dropout: on the inputs of the label weights.
        image_dropout: on the features.
    """

    window: Positive = 1
    hidden: Count = 0
    temperatures: Annotated[tuple[float, ...], Meta(min_length=1)] = (1.0,)
    weight: float = 0.5
    dropout: Share = 0.3
    image_dropout: Share = 0.0


def _by_kind(*kinds: type[ModelSettings]) -> dict[str, type[ModelSettings]]:
    return {kind().kind: kind for kind in kinds}


MODEL_SETTINGS: dict[str, dict[str, type[ModelSettings]]] = {
    "retrieval": _by_kind(TwoBranchSettings, VisualSemanticSettings, AttentiveMatchSettings, SentenceMatchSettings),
    "captioning": _by_kind(AttendSettings, MergeSettings, InitialSettings, ConvolutionalSettings),
    "tagging": _by_kind(LabelSequenceSettings, ClassifierSettings, GridClassifierSettings),
}
