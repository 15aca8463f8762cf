"""Caption, tag and search your own images, offline, with models you can train.

Use a model::

    import seetell

    model = seetell.open_model()                      # the built-in one; no download
    model.captioner("photo.jpg").text                 # 'a dog runs through the grass'
    model.tagger("photo.jpg").labels                  # ('dog', 'frisbee')
    for result in model.captioner(paths):             # many images, in order, on all cores
        print(result.name, result.error or result.text)

Compare images with texts::

    retriever = model.retriever
    images = retriever.images(paths)
    texts = retriever.texts(["a dog on the beach", "people at a table"])
    retriever.similarity.scores(images, texts)        # one row per image, one column per text

Index and search folders of images::

    with seetell.Library.open("holiday.library") as library:
        library.update(["~/Pictures"])                # encodes new and changed images
        for hit in library.search("a dog on the beach"):
            print(hit.relevance, hit.image.path)

Read datasets, train and evaluate models (`pip install 'seetell[learn]'`)::

    dataset = seetell.open_dataset("flickr8k:path/to/flickr8k")
    from seetell.learn import evaluate, export, load_recipe, train

An image is a path, the bytes of a file, an open binary file, a Pillow image or a numpy array. Every error that a user
can cause is a `SeetellError`, whose message says what is wrong, where, and what to do next.

Everything here is loaded when it is first used. Similarities, decoders and metrics can be used on their own: see
`seetell.similarity`, `seetell.decoding` and `seetell.metrics`.
"""

TYPE_CHECKING = False  # True for type checkers; importing it from typing would take longer than all of this module

if TYPE_CHECKING:
    from seetell.data import open_dataset as open_dataset
    from seetell.errors import BundleError as BundleError
    from seetell.errors import ClosedError as ClosedError
    from seetell.errors import DatasetError as DatasetError
    from seetell.errors import ImageError as ImageError
    from seetell.errors import LibraryError as LibraryError
    from seetell.errors import MissingExtraError as MissingExtraError
    from seetell.errors import RecipeError as RecipeError
    from seetell.errors import SeetellError as SeetellError
    from seetell.library import Library as Library
    from seetell.runtime import Captioner as Captioner
    from seetell.runtime import Model as Model
    from seetell.runtime import Retriever as Retriever
    from seetell.runtime import Tagger as Tagger
    from seetell.runtime import open_model as open_model

    __version__: str

_MODULES = {
    "seetell.runtime": ("Captioner", "Model", "Retriever", "Tagger", "open_model"),
    "seetell.library": ("Library",),
    "seetell.data": ("open_dataset",),
    "seetell.errors": (
        "BundleError",
        "ClosedError",
        "DatasetError",
        "ImageError",
        "LibraryError",
        "MissingExtraError",
        "RecipeError",
        "SeetellError",
    ),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BundleError",
    "Captioner",
    "ClosedError",
    "DatasetError",
    "ImageError",
    "Library",
    "LibraryError",
    "MissingExtraError",
    "Model",
    "RecipeError",
    "Retriever",
    "SeetellError",
    "Tagger",
    "__version__",
    "open_dataset",
    "open_model",
]


if not TYPE_CHECKING:

    def __getattr__(name):
        """Load a public name when it is first used."""
        if name == "__version__":
            from importlib.metadata import version

            value = version("seetell")
        elif name in _HOMES:
            from importlib import import_module

            value = getattr(import_module(_HOMES[name]), name)
        else:
            raise AttributeError(f"module 'seetell' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
