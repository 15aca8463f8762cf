"""Learning curves: what a run's history looks like, as an image and in TensorBoard."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SHOWN = {  # which metrics are drawn, by family
    "retrieval": ("image_to_text.r1", "image_to_text.r10", "text_to_image.r1", "text_to_image.r10", "sum_of_recalls"),
    "captioning": ("bleu4", "cider", "next_word_accuracy"),
    "tagging": ("map", "f1_of_means", "train.f1_of_means"),
}


STYLES = ("-", "--", ":")  # ten colours each
MANY = 6  # lines that a panel has room to name


def flat(metrics: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Nested metrics as one level: `image_to_text.r1`."""
    figures: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            figures |= flat(value, f"{prefix}{name}.")
        elif isinstance(value, (int, float)):
            figures[prefix + name] = float(value)
    return figures


def draw(histories: Mapping[str, Sequence[Mapping[str, Any]]], metrics: Sequence[str], path: Path, title: str) -> None:
    """Draw the loss and some metrics over the epochs, a line a run; phases are parted by a dotted line.

    Args:
        histories: a run's name → its history.
        metrics: flat names; one panel each.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels = ["loss", *metrics]
    figure, axes = pyplot.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        for place, (name, history) in enumerate(histories.items()):
            values = [record["loss"] if panel == "loss" else flat(record["metrics"]).get(panel) for record in history]
            axis.plot(range(1, len(values) + 1), values, label=name, linewidth=1.6, linestyle=STYLES[place // 10 % 3])
            ends = [i for i in range(1, len(history)) if history[i]["phase"] != history[i - 1]["phase"]]
            for end in ends:
                axis.axvline(end + 0.5, color="grey", linestyle=":", linewidth=1)
        axis.set_title(panel)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.3)
    figure.suptitle(title)
    figure.tight_layout()
    if len(histories) > MANY:  # beside the panels, which they would cover
        axes[0][-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1.0), ncols=1 + len(histories) // 20)
    elif len(histories) > 1:
        axes[0][-1].legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    figure.savefig(temporary, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)
    temporary.replace(path)


class TensorBoard:
    """Writes a record an epoch for TensorBoard, into the run's folder."""

    def __init__(self, run: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(run / "tensorboard"))

    def __call__(self, record: Mapping[str, Any], epoch: int) -> None:
        figures = {"loss": record["loss"], "score": record["score"], **flat(record["metrics"], "validation/")}
        for name, value in figures.items():
            self._writer.add_scalar(name, value, epoch)
        self._writer.flush()
