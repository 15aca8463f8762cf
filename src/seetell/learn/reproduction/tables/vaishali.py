"""Vaishali et al., *Image captioning*: the architectures it compares."""

from seetell.learn.reproduction.tables.base import CAPTIONS, PublishedTable, Row, recipe_rows, variant


def _captioners() -> PublishedTable:
    return PublishedTable(
        "vaishali",
        "Vaishali et al.: the merge captioner and related models",
        "vaishali",
        "flickr8k",
        (
            *recipe_rows(["merge"]),
            Row("merge-300", "merge", "merge, vectors of 300", settings=("text.vectors={vectors300}",), published={}),
            *recipe_rows(["initial", "convolutional"]),
            Row("merge-self-critical", "merge-self-critical", starts_from="merge"),
            *recipe_rows(["attend-soft"]),
            Row("attend-soft-self-critical", "attend-soft-self-critical", starts_from="attend-soft"),
            Row("retrieval-based", label="Retrieval-based", untrained="consensus", published={}),
            Row("template-based", label="Template-based", untrained="template", published={}),
            variant(
                "merge",
                "8-epochs",
                "merge, 8 epochs",
                "Same number of epochs as the other models, not the same time",
                'phases=[{loss = {kind = "cross_entropy"}, epochs = 8, learning_rate = 0.002, batch = 16, '
                'schedule = "cosine", warmup = 0.02}]',
                "training.average=0.995",
            ),
        ),
        CAPTIONS,
        "cider",
        ("merge", "initial", "attend-soft"),
        figures="captions",
    )


TABLES = (_captioners(),)
