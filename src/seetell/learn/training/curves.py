"""Learning curves: a run's history as an image and in TensorBoard."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seetell.files import replacing
from seetell.metrics.flatten import flatten_metrics

SHOWN = {  # which metrics are drawn, by task
    "retrieval": ("image_to_text.r1", "image_to_text.r10", "text_to_image.r1", "text_to_image.r10", "sum_of_recalls"),
    "captioning": ("bleu4", "cider", "next_word_accuracy"),
    "tagging": ("map", "f1_of_means", "train.f1_of_means"),
}


STYLES = ("-", "--", ":")  # ten colours each
MANY = 6  # a legend with more lines is drawn outside the panels


def draw(histories: Mapping[str, Sequence[Mapping[str, Any]]], metrics: Sequence[str], path: Path, title: str) -> None:
    """Draw the loss and some metrics over the epochs, one line per run; dotted lines separate phases.

    Args:
        histories: a run's name → its history.
        metrics: dotted names; one panel each.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = ["loss", *metrics]
    figure, axes = pyplot.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        for index, (name, history) in enumerate(histories.items()):
            values = [
                record["loss"] if panel == "loss" else flatten_metrics(record["metrics"]).get(panel)
                for record in history
            ]
            axis.plot(range(1, len(values) + 1), values, label=name, linewidth=1.6, linestyle=STYLES[index // 10 % 3])
            ends = [i for i in range(1, len(history)) if history[i]["phase"] != history[i - 1]["phase"]]
            for end in ends:
                axis.axvline(end + 0.5, color="grey", linestyle=":", linewidth=1)
        axis.set_title(panel)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.3)
    figure.suptitle(title)
    figure.tight_layout()
    if len(histories) > MANY:
        axes[0][-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1.0), ncols=1 + len(histories) // 20)
    elif len(histories) > 1:
        axes[0][-1].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        figure.savefig(part, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)


class TensorBoard:
    """Writes every epoch's record for TensorBoard into the run's folder."""

    def __init__(self, run: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(run / "tensorboard"))

    def __call__(self, record: Mapping[str, Any], epoch: int) -> None:
        metrics = {f"validation/{name}": value for name, value in flatten_metrics(record["metrics"]).items()}
        figures = {"loss": record["loss"], "score": record["score"], **metrics}
        for name, value in figures.items():
            self._writer.add_scalar(name, value, epoch)
        self._writer.flush()
