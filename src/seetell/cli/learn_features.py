"""`seetell learn features DATASET`: encode a dataset's images into the feature store."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from seetell.data import Record

SHOWN = 20  # unreadable images listed in a text report


DatasetAddress = Annotated[
    str, typer.Argument(help="flickr8k:PATH, flickr30k:PATH, coco:PATH, table:FILE?images=FOLDER or scenes:2000")
]
EncoderName = Annotated[
    str,
    typer.Option(
        help="A timm network, optionally with its weights after an @: a file, or `hub` to download them; "
        "vgg16@vgg16.safetensors, resnet50@hub."
    ),
]
Layouts = Annotated[
    list[str] | None,
    typer.Option(help="pooled, grid (the default), grid:STAGE, levels, grid+levels or full_network; may be repeated."),
]
Crops = Annotated[
    int, typer.Option(min=1, max=10, help="1, or 10: the mean over corners, centre and their mirror images.")
]
View = Annotated[
    str, typer.Option(help="With one crop: centre (the central square) or whole (the image squashed to a square).")
]
Size = Annotated[int | None, typer.Option(min=1, help="The square's side in pixels; by default the network's own.")]
Store = Annotated[
    Path | None,
    typer.Option(help="The folder of feature stores; by default $SEETELL_STORE, or the user's cache folder."),
]


def features(
    dataset: DatasetAddress,
    encoder: EncoderName = "tf_efficientnet_lite2",
    layout: Layouts = None,
    crops: Crops = 1,
    view: View = "centre",
    mirrored: Annotated[bool, typer.Option("--mirrored", help="Encode the mirrored images instead.")] = False,
    size: Size = None,
    split: Annotated[list[str] | None, typer.Option(help="Only this split's images; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Encode only the first images, this many.")] = None,
    store: Store = None,
    precision: Annotated[str, typer.Option(help="Of the values on disk: float16 or float32.")] = "float16",
    batch: Annotated[int | None, typer.Option(min=1, help="Images per batch.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads; by default one per usable core.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with everything in full.")] = False,
) -> None:
    """Encode a dataset's images into the features that models are trained on.

    Images in the store are not encoded again; interrupt it at any time, and a second run continues. Images that cannot
    be read are skipped, and listed at the end.
    """
    import json

    from seetell.errors import SeetellError
    from seetell.learn.encoders import PRECISIONS, Encoder, encode_dataset
    from seetell.learn.encoders.devices import find_device
    from seetell.progress import for_terminal

    if crops not in (1, 10):
        raise SeetellError(f"crops is {crops}, but must be 1 or 10", where="--crops")
    if precision not in PRECISIONS:
        raise SeetellError(f"precision is {precision!r}, but must be {' or '.join(PRECISIONS)}", where="--precision")
    find_device(device)
    records = _records(dataset, split, limit)
    loaded = Encoder.load(encoder)
    for note in loaded.notes:
        typer.echo(f"{loaded.name}: {note}", err=True)
    report = encode_dataset(
        records,
        loaded,
        layout or ["grid"],
        root=store,
        preparation=loaded.preparation("ten" if crops == 10 else "centre", view=view, size=size or 0),
        precision=precision,
        mirrored=mirrored,
        batch_size=batch,
        threads=threads,
        device=device,
        progress=for_terminal(),
    )
    typer.echo(json.dumps(_as_json(report), ensure_ascii=False) if as_json else "\n".join(_lines(report)))


def _records(dataset: str, splits: list[str] | None, limit: int | None) -> "list[Record]":
    from seetell.data import open_dataset
    from seetell.errors import DatasetError

    opened = open_dataset(dataset)
    records = [record for record in opened.records if not splits or record.split in splits][:limit]
    if not records:
        known = sorted({record.split or "(none)" for record in opened.records})
        raise DatasetError("there is no image to encode", where=dataset, remedy=f"Its splits are {', '.join(known)}")
    return records


def _lines(report: Any) -> list[str]:
    from seetell.learn.encoders.space import size_text
    from seetell.progress import clock

    lines = [
        f"{report.images:,} images: {report.new:,} encoded, {report.present:,} already there, "
        f"{len(report.unreadable):,} unreadable, in {clock(report.seconds)}"
    ]
    lines += [f"  {each}" for each in report.unreadable[:SHOWN]]
    if len(report.unreadable) > SHOWN:
        lines.append(f"  … and {len(report.unreadable) - SHOWN:,} more (--json lists all)")
    lines += [
        f"{layout}: {len(store):,} rows, {size_text(store.bytes_on_disk)}, {store.folder}"
        for layout, store in report.stores.items()
    ]
    return lines


def _as_json(report: Any) -> dict[str, Any]:
    return {
        "images": report.images,
        "new": report.new,
        "present": report.present,
        "unreadable": [{"image": each.where, "reason": each.reason} for each in report.unreadable],
        "seconds": round(report.seconds, 3),
        "stores": {
            layout: {"path": str(store.folder), "rows": len(store), "bytes": store.bytes_on_disk}
            for layout, store in report.stores.items()
        },
    }
