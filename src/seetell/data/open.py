"""Opening a dataset by its address: `flickr8k:PATH`, `table:FILE?images=FOLDER`, `scenes:2000`."""

from collections.abc import Callable
from pathlib import Path

from seetell.data.dataset import Dataset, limit_splits
from seetell.errors import DatasetError, did_you_mean

# What may follow the question mark.
_PARAMETERS = {
    "flickr8k": ("images", "limit"),
    "flickr30k": ("images", "limit"),
    "coco": ("images", "year", "test", "restval", "limit"),
    "table": ("images", "extra", "limit"),
    "scenes": ("seed", "limit"),
}
_FORMS = "flickr8k:PATH, flickr30k:PATH, coco:PATH, table:FILE?images=FOLDER or scenes:2000"


def open_dataset(address: str) -> Dataset:
    """Open a dataset by its address: a kind, a colon, a path or a number, and parameters after a question mark.

    - `flickr8k:PATH`, `flickr30k:PATH`, with `images=FOLDER` if the images are not below PATH.
    - `coco:PATH`, with `year=2014|2017`, `test=1k|5k`, `restval=train|extra` and `images=FOLDER`; see
      `seetell.data.coco`.
    - `table:FILE`, your own CSV, TSV or JSON-lines file, with `images=FOLDER` and `extra=train` to train on the split
      "extra" as well; see `seetell.data.rows` for its columns.
    - `scenes:COUNT`, images that are drawn on demand, with `seed=NUMBER`.

    All kinds take `limit=COUNT`, the most images of each split, for a quick trial.

    Args:
        address: parameters are separated by `&`; paths are written as they are, without percent-encoding.

    Returns:
        A `Dataset` with `records`, `classes`, and what was `skipped` and why.

    Raises:
        DatasetError: the address is wrong, or the dataset cannot be read.

    Example:
        >>> from seetell.data import open_dataset
        >>> dataset = open_dataset("scenes:8")
        >>> len(dataset.records)
        8
        >>> record = dataset.records[0]
        >>> record.split, len(record.captions), record.image.name
        ('train', 5, 'scene-7-00000.png')
        >>> open_dataset("scenes:8?limit=1").notes
        ('limited: 5 images left out',)
    """
    kind, colon, rest = address.partition(":")
    if not colon or kind not in _PARAMETERS:
        raise _unknown_kind(address, kind if colon else "")
    target, parameters = _parse(address, kind, rest)
    limit = parameters.pop("limit", "")
    dataset = _open(address, kind, target, parameters)
    if not limit:
        return dataset
    count = _integer(limit, address, "the limit", f"{kind}:…?limit=2000")
    if count < 1:
        raise DatasetError(f"the limit is {count}", where=address, remedy=f"For example {kind}:…?limit=2000")
    return limit_splits(dataset, count)


def _open(address: str, kind: str, target: str, parameters: dict[str, str]) -> Dataset:
    if kind == "scenes":
        from seetell.data.scenes import scenes

        count = _integer(target, address, "the number of images", "scenes:2000")
        if "seed" in parameters:
            return scenes(count, seed=_integer(parameters["seed"], address, "the seed", "scenes:2000?seed=3"))
        return scenes(count)
    path = Path(target).expanduser()
    if not target or not path.exists():
        missing = "no such file" if kind == "table" else "no such folder or file"
        raise DatasetError(f"there is {missing}", where=target or address, remedy=f"A dataset is {_FORMS}")
    images = _image_folder(parameters.pop("images", ""), path)
    return _readers()[kind](path, images=images, **parameters)


def _readers() -> dict[str, Callable[..., Dataset]]:
    from seetell.data.coco import coco
    from seetell.data.flickr8k import flickr8k
    from seetell.data.flickr30k import flickr30k
    from seetell.data.table import table

    return {"flickr8k": flickr8k, "flickr30k": flickr30k, "coco": coco, "table": table}


def _parse(address: str, kind: str, rest: str) -> tuple[str, dict[str, str]]:
    """The part before the question mark, and the parameters after it."""
    target, question, query = rest.rpartition("?")
    if not question or (kind != "scenes" and Path(rest).exists()):  # a path may contain a question mark
        return rest, {}
    parameters: dict[str, str] = {}
    last = ""
    for part in query.split("&"):
        name, equals, value = part.partition("=")
        if not equals and last and part:  # an ampersand within a path
            parameters[last] += f"&{part}"
            continue
        if not equals or name not in _PARAMETERS[kind]:
            remedy = did_you_mean(name, _PARAMETERS[kind])
            raise DatasetError(f"{part!r} is not a parameter of {kind}", where=address, remedy=remedy)
        if not value:
            raise DatasetError(f"{name} has no value", where=address)
        parameters[name], last = value, name
    return target, parameters


def _image_folder(written: str, path: Path) -> Path | None:
    """The folder of the images, relative to the working folder or else to the dataset."""
    if not written:
        return None
    here = Path(written).expanduser()
    with_dataset = (path if path.is_dir() else path.parent) / here
    for folder in (here, with_dataset):
        if folder.is_dir():
            return folder
    raise DatasetError("there is no such folder of images", where=written, remedy="Give images= a folder that exists")


def _integer(text: str, address: str, name: str, example: str) -> int:
    try:
        return int(text)
    except ValueError:
        problem = f"{name} is not an integer: {text!r}"
        raise DatasetError(problem, where=address, remedy=f"For example {example}") from None


def _unknown_kind(address: str, kind: str) -> DatasetError:
    if Path(address).expanduser().is_file():
        remedy = f"To read it as a table: table:{address}"
    elif kind:
        remedy = did_you_mean(kind.lower(), _PARAMETERS)
    else:
        remedy = f"A dataset is {_FORMS}"
    problem = f"there is no kind of dataset {kind!r}" if kind else "it does not name a kind of dataset"
    return DatasetError(problem, where=address, remedy=remedy)
