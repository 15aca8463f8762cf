"""How alike images and texts are, with gradients: cosine, order, Euclidean.

Each takes images (P, D) and texts (T, D) and gives scores (P, T); a bigger score means more alike. They are the
differentiable twins of `seetell.similarity` and give the same numbers.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from seetell.errors import SeetellError

Similarity = Callable[[Tensor, Tensor], Tensor]

# Differences c − i are made for so many numbers at a time: 4 MiB, which a processor's cache still holds.
_BLOCK = 1 << 20
# Below this share of scores with a gradient, going through those pairs alone is the faster way.
_SPARSE = 0.15


def cosine(images: Tensor, texts: Tensor) -> Tensor:
    """S(i, c) = i·c / (‖i‖ ‖c‖) (Vilalta et al., equation 2). A vector of zeros is like nothing: its scores are 0."""
    return F.normalize(images, dim=1) @ F.normalize(texts, dim=1).T


def order(images: Tensor, texts: Tensor) -> Tensor:
    """S(c, i) = −‖max(0, c − i)‖²: 0 when the image is at least the caption in every dimension.

    The (P, T, D) tensor of differences is never whole in memory: it is made block by block, and made again for the
    gradient. Where a loss looks at few pairs only, as the maximum of hinges does, so does the gradient.
    (Vilalta et al., equation 3; Vendrov et al., *Order-embeddings of images and language*, 2015.)
    """
    precise = torch.promote_types(torch.promote_types(images.dtype, texts.dtype), torch.float32)
    scores: Tensor = _Order.apply(images.to(precise), texts.to(precise))
    return scores


def euclidean(images: Tensor, texts: Tensor) -> Tensor:
    """S(i, c) = −d(i, c) with d = ‖i − c‖, not squared: the distance of Kolluru's equations 1 to 3.

    The branches' outputs have unit length, so 0 ≤ d ≤ 2 and margins mean the same whatever the dimension. The gradient
    of two equal vectors is taken to be 0.
    """
    return -torch.cdist(images, texts)


SIMILARITIES: dict[str, Similarity] = {"cosine": cosine, "order": order, "euclidean": euclidean}


def similarity_by_name(name: str) -> Similarity:
    """The similarity called `cosine`, `order` or `euclidean`."""
    if name not in SIMILARITIES:
        raise SeetellError(
            f"there is no similarity called {name!r}", remedy=f"Choose one of: {', '.join(SIMILARITIES)}"
        )
    return SIMILARITIES[name]


class _Order(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, images: Tensor, texts: Tensor) -> Tensor:
        ctx.save_for_backward(images, texts)
        scores = images.new_empty(len(images), len(texts))
        for rows, excess in _excesses(images, texts):
            torch.linalg.vector_norm(excess, dim=2, out=scores[rows])
        return scores.square_().neg_()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """∂S/∂i = 2 max(0, c − i) and ∂S/∂c = −2 max(0, c − i)."""
        images, texts = ctx.saved_tensors
        few = gradient.count_nonzero() < _SPARSE * gradient.numel()
        toward_images, toward_texts = (_some_pairs if few else _all_pairs)(gradient, images, texts)
        return toward_images.mul_(2), toward_texts.mul_(-2)


def _excesses(images: Tensor, texts: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """max(0, c − i) of some images and all texts at a time, (rows, T, D), in memory that is used again each time."""
    step = max(1, _BLOCK // max(1, texts.numel()))
    buffer = texts.new_empty(min(step, len(images)), *texts.shape)
    for start in range(0, len(images), step):
        some = images[start : start + step, None]
        yield slice(start, start + step), torch.sub(texts, some, out=buffer[: len(some)]).clamp_(min=0)


def _all_pairs(gradient: Tensor, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
    toward_images, toward_texts = torch.empty_like(images), torch.zeros_like(texts)
    for rows, excess in _excesses(images, texts):
        torch.bmm(gradient[rows, None], excess, out=toward_images[rows, None])
        toward_texts += excess.mul_(gradient[rows, :, None]).sum(0)
    return toward_images, toward_texts


def _some_pairs(gradient: Tensor, images: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
    toward_images, toward_texts = torch.zeros_like(images), torch.zeros_like(texts)
    step = max(1, _BLOCK // max(1, texts.shape[1]))
    for pairs in torch.split(gradient.nonzero(), step):
        image, text = pairs.unbind(1)
        excess = (texts[text] - images[image]).clamp_(min=0).mul_(gradient[image, text, None])
        toward_images.index_add_(0, image, excess)
        toward_texts.index_add_(0, text, excess)
    return toward_images, toward_texts
