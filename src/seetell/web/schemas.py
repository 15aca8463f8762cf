"""Request and response bodies of the JSON API."""

from typing import Literal

from pydantic import BaseModel, Field

EditedField = Literal["caption", "tags"]


class ErrorResponse(BaseModel):
    """Why a request failed, and what to do about it."""

    error: str = Field(description="What is wrong.")
    remedy: str = Field(default="", description="What to do next; empty if there is nothing to suggest.")


class TagResponse(BaseModel):
    """A tag of an image."""

    label: str
    confidence: float = Field(description="Probability that the tag is right, 0 to 1; 1 for tags a person wrote.")


class ImageResponse(BaseModel):
    """An image of the library."""

    id: int = Field(description="Its number in the library.")
    version: str = Field(description="Version of its content. URLs with `?v=VERSION` may be cached for ever.")
    caption: str = Field(description="The caption a person wrote, or else the model's.")
    tags: list[TagResponse] = Field(description="The tags a person wrote, or else the model's.")
    description: str = Field(description="Text from the file's metadata or an imported table.")
    edited: list[EditedField] = Field(description="Which fields a person edited in this library.")
    name: str = Field(description="File name.")
    files: list[str] = Field(description="Every file with this content; full paths only on this computer.")
    width: int = Field(description="In pixels.")
    height: int = Field(description="In pixels.")
    bytes: int = Field(description="File size.")
    taken: float = Field(description="When the photo was taken, in seconds since 1970.")


class SearchQuery(BaseModel):
    """Query parameters of a search."""

    q: str = Field(default="", max_length=1_000, description="A sentence or words.")
    tag: list[str] = Field(default=[], max_length=20, description="Only images with all of these tags.")
    not_tag: list[str] = Field(default=[], max_length=20, description="No images with any of these tags.")
    like: int | None = Field(default=None, ge=1, le=2**53, description="Id of an image: find similar ones.")
    upload: str = Field(default="", max_length=64, description="Id of an uploaded image: find similar ones.")
    offset: int = Field(default=0, ge=0, le=2**40, description="Number of results to skip.")
    limit: int = Field(default=60, ge=1, le=200, description="Number of results.")


class HitResponse(ImageResponse):
    """An image in a list of search results."""

    relevance: float = Field(description="Probability that the image matches the query.")
    matches: bool = Field(description="Whether the relevance is at least 0.5.")
    matched_words: list[str] = Field(description="Words of the query found in the image's own text.")


class SearchResponse(BaseModel):
    """Search results, best first. Results that do not match are included; see `matches`."""

    results: list[HitResponse]
    total: int = Field(description="Number of images that pass the filters.")
    has_more: bool = Field(description="Whether another page follows.")
    unknown_words: list[str] = Field(description="Words of the query that neither the model nor any image knows.")


class TagCountResponse(BaseModel):
    """A tag and how many images have it."""

    label: str
    images: int


class LibraryResponse(BaseModel):
    """Summary of the library and its model."""

    images: int = Field(description="Number of images.")
    files: int = Field(description="Number of files; copies of an image count separately.")
    unreadable: int = Field(description="Files that could not be read.")
    edited: int = Field(description="Images with an edited caption or edited tags.")
    folders: list[str] = Field(description="Indexed folders; full paths only on this computer.")
    model: str = Field(description="Name of the model that indexed the library; empty before the first image.")
    kinds: list[str] = Field(description="What the model does: `captioner`, `tagger`, `retriever`.")
    version: str = Field(description="Version of seetell.")


class EditRequest(BaseModel):
    """Changes to an image. Omitted fields stay as they are; null restores the model's own."""

    caption: str | None = Field(default=None, max_length=4_000, description="The new caption.")
    tags: list[str] | None = Field(default=None, max_length=200, description="All of the new tags.")


class WordResponse(BaseModel):
    """A word of a caption and the attention behind it."""

    text: str
    space_before: bool = Field(description="Whether a space precedes the word.")
    probability: float = Field(description="Probability the model gave to the word.")
    gate: float | None = Field(default=None, description="Mean visual gate (β) of the word, if the model has one.")
    attention: list[float] | None = Field(
        default=None, description="Attention to each grid cell, row by row from the top left, scaled to a maximum of 1."
    )
    region: str = Field(default="", description="Where the attention is: `top left`, `centre`, …, or `everywhere`.")


class CaptionResponse(BaseModel):
    """A model's caption with the attention behind each word."""

    caption: str = Field(
        default="", description="Low-confidence captions start with “perhaps”, which is not in `words`."
    )
    uncertain: bool = Field(default=False, description="Whether the caption has low confidence.")
    words: list[WordResponse] = Field(default=[], description="Words of the caption, in order.")
    has_attention: bool = Field(default=False, description="Whether the words carry attention.")
    grid_size: int = Field(default=0, description="The attention grid has this many rows and columns.")
    box: tuple[float, float, float, float] = Field(
        default=(0.0, 0.0, 1.0, 1.0),
        description="Part of the image the grid covers: left, top, right, bottom as fractions of width and height.",
    )


class UploadResponse(CaptionResponse):
    """Caption, attention and tags of an uploaded image."""

    id: str = Field(description="Pass it as `upload` to search by this image; empty if the model cannot search.")
    tags: list[TagResponse] = Field(description="The model's tags.")


class UpdateResponse(BaseModel):
    """Whether indexing was started."""

    started: bool = Field(description="False if it is already running.")


class ScoreResponse(BaseModel):
    """An evaluation result stored in a model."""

    data: str = Field(description="Dataset.")
    split: str
    protocol: str = Field(description="How it was measured.")
    images: int = Field(description="Number of images evaluated.")
    measured_on: str = Field(description="`bundle` for the exported model, else the checkpoint it was made from.")
    metrics: dict[str, float] = Field(description="Nested metrics have dotted names, such as `image_to_text.r1`.")


class ModelResponse(BaseModel):
    """A model installed on this computer."""

    name: str
    in_use: bool = Field(description="Whether the library uses it.")
    builtin: bool = Field(description="Whether it is part of the package.")
    about: str = ""
    kinds: list[str] = Field(default=[], description="What it does: `captioner`, `tagger`, `retriever`.")
    bytes: int = Field(default=0, description="Size on disk.")
    precision: str = Field(default="", description="Number format of the weights.")
    licence: str = ""
    training_data: list[str] = []
    encoder: str = Field(default="", description="The image encoder.")
    fingerprint: str = Field(default="", description="Changes with anything that can change a result.")
    scores: dict[str, list[ScoreResponse]] = Field(default={}, description="Evaluation results by kind.")
    error: str = Field(default="", description="Why it cannot be used; empty if it can.")
