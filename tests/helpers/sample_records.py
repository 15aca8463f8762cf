"""Records with chosen figures, for tests of pages."""

from collections.abc import Mapping
from typing import Any

from seetell.learn.reproduction.records import Epoch, Request, RowRecord

TASK = {"vilalta": "retrieval", "kolluru": "retrieval", "xu": "captioning", "vaishali": "captioning", "ren": "tagging"}
MAIN = {"retrieval": "sum_of_recalls", "captioning": "cider", "tagging": "f1_of_means"}
EXAMPLE = {"image": "1.jpg", "reference": "A dog runs .", "caption": "a dog"}


def sample(
    table: str, row: str, metrics: Mapping[str, float], *, dataset: str = "flickr8k", seed: int = 1, seconds: float = 90
) -> RowRecord:
    task = TASK[table.partition("-")[0]]
    epochs: list[Epoch] = [
        {
            "phase": 1,
            "epoch": epoch,
            "loss": 1.0 / epoch,
            "samples": 600,
            "seconds": seconds / 2,
            "score": float(epoch),
            "metrics": {MAIN[task]: float(epoch), "next_word_accuracy": 10.0, "train": {"f1_of_means": 3.0}},
            "best": True,
        }
        for epoch in (1, 2)
    ]
    figures: dict[str, Any] = {}
    if task == "captioning":
        figures = {"captions": {"best": [EXAMPLE], "worst": [EXAMPLE], "random": [EXAMPLE]}}
    return RowRecord(
        table=table,
        row=row,
        dataset=dataset,
        seed=seed,
        recipe=row,
        task=task,
        request=Request((f"{dataset}:PATH",)),
        data={"fingerprint": "0123456789abcdef", "splits": {"test": 1000, "train": 6000, "val": 1000}},
        encoder={"name": "tf_efficientnet_lite2", "layout": "pooled", "crops": 1, "view": "whole", "size": 0},
        settings={"name": row},
        software={"version": "0.1.0", "commit": "0123456789ab", "threads": 2},
        parameters=1000,
        images=1000,
        protocol="as ever",
        metrics=dict(metrics),
        seconds=float(seconds),
        history=epochs,
        seconds_decoding=2.0 if task == "captioning" else 0.0,
        notes=[],
        figures=figures,
    )
