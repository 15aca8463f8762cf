"""Ren, *Applying NLP deep learning ideas to image classification*: Table 3."""

from seetell.learn.reproduction.tables.base import TAGS, PublishedTable, Row, recipe_rows, variant

LABEL_SEQUENCES = ("init-attn", "joint", "joint-attn", "seq2seq-attn", "init", "seq2seq")


def _sequences() -> PublishedTable:
    wang = {"coco": {"precision": 69.2, "recall": 66.4, "f1_of_means": 67.8}}
    return PublishedTable(
        "ren-table3",
        "Ren, Table 3: label sequences against the CNN alone",
        "ren",
        "coco",
        (
            *recipe_rows(["warp", "softmax", "bce", "init-attn", "joint", "joint-attn"]),
            Row("wang", label="Wang et al.", published=wang),
            *recipe_rows(["seq2seq-attn", "init", "seq2seq", "best-tags"]),
            *(_beam5(name) for name in LABEL_SEQUENCES),
            *_sweep(),
        ),
        TAGS,
        "f1_of_means",
        ("bce", "init", "seq2seq", "best-tags"),
        figures="tags",
    )


def _beam5(name: str) -> Row:
    part = "Beam search instead of greedy"
    return Row(f"{name}-beam5", label=f"{name}, 5 beams", part=part, published={}, tests=name, decoding={"beam": 5})


def _sweep() -> tuple[Row, ...]:
    part = "Sweep: label embeddings, one LSTM or two, learning rates"
    glove, xavier, separate = "text.vectors=default", 'text.vectors=""', "model.part=seq2seq-separate"
    return (
        variant("seq2seq", "xavier", "seq2seq, Xavier, one LSTM", part, xavier),
        variant("seq2seq", "separate", "seq2seq, GloVe, two LSTMs", part, separate),
        variant("seq2seq", "xavier-separate", "seq2seq, Xavier, two LSTMs", part, xavier, separate),
        variant("init", "glove", "init, GloVe", part, glove),
        variant("joint", "glove", "joint, GloVe", part, glove),
        *(
            variant(
                name,
                f"rate{rate}".replace(".", ""),
                f"{name}, learning rate {rate}",
                part,
                f"phases.learning_rate={rate}",
            )
            for name in ("joint", "init", "seq2seq")
            for rate in ("0.001", "0.0001")
        ),
    )


TABLES = (_sequences(),)
