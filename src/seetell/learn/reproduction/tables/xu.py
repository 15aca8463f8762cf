"""Xu et al., *Show, attend and tell*: Table 1."""

from seetell.learn.reproduction.tables.base import CAPTIONS, PublishedTable, Row, recipe_rows, variant, vgg16


def _attention() -> PublishedTable:
    soft, part = "attend-soft", "Soft attention without its parts"
    lengths = "Batch composition, 80 captions each"
    decoding = "Same weights, other decoding"
    return PublishedTable(
        "xu-table1",
        "Xu et al., Table 1: soft and hard attention",
        "xu",
        "flickr8k",
        (
            *recipe_rows([soft, "attend-hard", "best-caption"]),
            vgg16(soft, "Soft-Attention"),
            vgg16("attend-hard", "Hard-Attention"),
            variant(soft, "no-gate", "no gate β", part, "model.gate=false"),
            variant(soft, "no-ds", "no doubly stochastic penalty", part, "phases.loss.doubly_stochastic=0.0"),
            variant(soft, "buckets", "captions of one length", lengths, "training.captions=all", "phases.batch=80"),
            variant(soft, "mixed", "captions of all lengths", lengths, "training.captions=mixed", "phases.batch=80"),
            Row(
                f"{soft}-greedy",
                label="Soft-Attention, greedy",
                part=decoding,
                published={},
                tests=soft,
                decoding={"beam": 1},
            ),
            Row(
                "attend-hard-expected",
                label="Hard-Attention, expected context instead of the most likely location",
                part=decoding,
                published={},
                tests="attend-hard",
                model={"attention": "soft"},
            ),
        ),
        CAPTIONS,
        "bleu4_no_bp",
        (soft, "attend-hard", "best-caption"),
        figures="captions",
    )


TABLES = (_attention(),)
