"""Flickr30k: 31,783 images with five captions each.

Young, Lai, Hodosh & Hockenmaier, *From image descriptions to visual denotations*, TACL 2 (2014). The token file
(`results_20130124.token`), Kaggle's `results.csv`, the table `flickr_annotations_30k.csv`, or Karpathy's
`dataset_flickr30k.json`. The dataset was published without splits; everyone uses Karpathy's 29,000 / 1,014 / 1,000,
from his file or as the lists `train.txt`, `val.txt`, `test.txt`. Kaggle's table has one line in which a separator is
missing (`2199200615.jpg`); it is skipped and reported.
"""

import re
from pathlib import Path

from seetell.data.dataset import Dataset
from seetell.data.flickr import Edition, read_flickr

FLICKR30K = Edition(
    name="flickr30k",
    tokens=re.compile(r"(?!.*lemma).*\.token(\.txt)?", re.IGNORECASE),
    tables=re.compile(r"(results|captions|flickr_annotations_30k)\.(txt|csv)", re.IGNORECASE),
    karpathy=re.compile(r"dataset_flickr30k\.json", re.IGNORECASE),
    lists=re.compile(r"(?:flickr_?30k[._-]?)?(train|dev|val|test)[._-]?(?:images)?\.txt", re.IGNORECASE),
    shares={"train": 29000, "val": 1014, "test": 1000},
    expected="results_20130124.token, results.csv, captions.txt and dataset_flickr30k.json",
)


def flickr30k(path: Path, *, images: Path | None = None) -> Dataset:
    """Read Flickr30k from its folder, or from its captions file; `images` is the folder of the images, if elsewhere."""
    return read_flickr(path, FLICKR30K, images=images)
