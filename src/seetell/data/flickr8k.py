"""Flickr8k: 8,091 images with five captions each; 6,000 / 1,000 / 1,000 are in the published splits, 91 in none.

Hodosh, Young & Hockenmaier, *Framing image description as a ranking task*, JAIR 47 (2013). As published (the folders
`Flicker8k_Dataset` and `Flickr8k_text`), as Kaggle has it (`Images` and `captions.txt`), Karpathy's
`dataset_flickr8k.json` with the images, or any mixture of these files in one folder. The published token file has five
captions of an image that does not exist; they are skipped and reported.
"""

import re
from pathlib import Path

from seetell.data.dataset import Dataset
from seetell.data.flickr import Edition, read_flickr

FLICKR8K = Edition(
    name="flickr8k",
    tokens=re.compile(r"(?!.*lemma).*token(\.txt)?", re.IGNORECASE),
    tables=re.compile(r"(flickr_?8k[._-]?)?captions\.(txt|csv)", re.IGNORECASE),
    karpathy=re.compile(r"dataset_flickr8k\.json", re.IGNORECASE),
    lists=re.compile(r"(?:flickr_?8k[._-]?)?(train|dev|val|test)[._-]?(?:images)?\.txt", re.IGNORECASE),
    shares={"train": 6000, "val": 1000, "test": 1000},
    expected="Flickr8k.token.txt, captions.txt and dataset_flickr8k.json",
)


def flickr8k(path: Path, *, images: Path | None = None) -> Dataset:
    """Read Flickr8k from its folder, or from its captions file; `images` is the folder of the images, if elsewhere."""
    return read_flickr(path, FLICKR8K, images=images)
