"""Opening a dataset by the text that names it: `flickr8k:PATH`, `table:FILE?images=FOLDER`, `scenes:2000`."""

from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

from seetell.data.dataset import Dataset, limited
from seetell.errors import DatasetError

# What may follow the question mark.
_PARAMETERS = {
    "flickr8k": ("images", "limit"),
    "flickr30k": ("images", "limit"),
    "coco": ("images", "year", "test", "restval", "limit"),
    "table": ("images", "extra", "limit"),
    "scenes": ("seed", "limit"),
}
_FORMS = "flickr8k:PATH, flickr30k:PATH, coco:PATH, table:FILE?images=FOLDER or scenes:2000"


def open_dataset(spec: str) -> Dataset:
    """The dataset that `spec` names: a kind, a colon, a path or a number, and after a question mark parameters.

    - `flickr8k:PATH`, `flickr30k:PATH`: `images` is where the images are, if not under PATH
    - `coco:PATH`: `year=2014|2017`, `test=1k|5k`, `restval=train|extra`, `images` (see `seetell.data.coco`)
    - `table:FILE`: `images`, the folder of the images, from here or from the table; `extra=train` to train on the
      split "extra" as well
    - `scenes:COUNT`: `seed`
    - all: `limit`, at most so many images of each split, for a quick trial

    Parameters are separated by `&`. Nothing is percent-decoded: a path is written as it is.
    """
    kind, colon, rest = spec.partition(":")
    if not colon or kind not in _PARAMETERS:
        raise _unknown(spec, kind if colon else "")
    target, parameters = _parse(spec, kind, rest)
    limit = parameters.pop("limit", "")
    dataset = _open(spec, kind, target, parameters)
    if not limit:
        return dataset
    count = _whole(limit, spec, "the limit", f"{kind}:…?limit=2000")
    if count < 1:
        raise DatasetError(f"the limit is {count}", where=spec, remedy=f"For example {kind}:…?limit=2000")
    return limited(dataset, count)


def _open(spec: str, kind: str, target: str, parameters: dict[str, str]) -> Dataset:
    if kind == "scenes":
        from seetell.data.scenes import scenes

        count = _whole(target, spec, "how many images", "scenes:2000")
        if "seed" in parameters:
            return scenes(count, seed=_whole(parameters["seed"], spec, "the seed", "scenes:2000?seed=3"))
        return scenes(count)
    path = Path(target).expanduser()
    if not target or not path.exists():
        what = "no such file" if kind == "table" else "no such folder or file"
        raise DatasetError(f"there is {what}", where=target or spec, remedy=f"A dataset is {_FORMS}")
    images = _images(parameters.pop("images", ""), path)
    return _readers()[kind](path, images=images, **parameters)


def _readers() -> dict[str, Callable[..., Dataset]]:
    from seetell.data.coco import coco
    from seetell.data.flickr8k import flickr8k
    from seetell.data.flickr30k import flickr30k
    from seetell.data.table import table

    return {"flickr8k": flickr8k, "flickr30k": flickr30k, "coco": coco, "table": table}


def _parse(spec: str, kind: str, rest: str) -> tuple[str, dict[str, str]]:
    """What stands before the question mark, and the parameters after it."""
    target, question, query = rest.rpartition("?")
    if not question or (kind != "scenes" and Path(rest).exists()):  # a path may have a question mark in it
        return rest, {}
    parameters: dict[str, str] = {}
    last = ""
    for part in query.split("&"):
        name, equals, value = part.partition("=")
        if not equals and last and part:  # an ampersand within a path
            parameters[last] += f"&{part}"
            continue
        if not equals or name not in _PARAMETERS[kind]:
            near = get_close_matches(name, _PARAMETERS[kind], n=1)
            known = ", ".join(f"{each}=…" for each in _PARAMETERS[kind])
            remedy = f"Did you mean {near[0]}={value or '…'}?" if near else f"{kind} knows: {known}"
            raise DatasetError(f"{part!r} is not a parameter of {kind}", where=spec, remedy=remedy)
        if not value:
            raise DatasetError(f"{name} has no value", where=spec)
        parameters[name], last = value, name
    return target, parameters


def _images(written: str, path: Path) -> Path | None:
    """The folder of images: from the working folder, else from the dataset's."""
    if not written:
        return None
    here = Path(written).expanduser()
    beside = (path if path.is_dir() else path.parent) / here
    for folder in (here, beside):
        if folder.is_dir():
            return folder
    raise DatasetError("there is no such folder of images", where=written, remedy="Give images= a folder that exists")


def _whole(text: str, spec: str, what: str, example: str) -> int:
    try:
        return int(text)
    except ValueError:
        problem = f"{what} is not a whole number: {text!r}"
        raise DatasetError(problem, where=spec, remedy=f"For example {example}") from None


def _unknown(spec: str, kind: str) -> DatasetError:
    problem = f"there is no kind of dataset called {kind!r}" if kind else "it does not say what kind of dataset it is"
    near = get_close_matches(kind.lower(), _PARAMETERS, n=1)
    if Path(spec).expanduser().is_file():
        remedy = f"To read it as a table: table:{spec}"
    elif near:
        remedy = f"Did you mean {near[0]}:{spec.partition(':')[2]}?"
    else:
        remedy = f"A dataset is {_FORMS}"
    return DatasetError(problem, where=spec, remedy=remedy)
