"""Similarities of images and texts, with gradients: cosine, order, Euclidean.

Each takes images (P, D) and texts (T, D) and returns scores (P, T); larger means more similar. They are the
differentiable counterparts of `seetell.similarity` and give the same numbers.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from seetell.errors import SeetellError, did_you_mean

Similarity = Callable[[Tensor, Tensor], Tensor]

# Differences c − i are computed in blocks of this many numbers: 4 MiB, which fits into a processor's cache.
_BLOCK = 1 << 20
# Below this share of scores with a gradient, visiting only those pairs is faster.
_SPARSE = 0.15


def cosine(images: Tensor, texts: Tensor) -> Tensor:
    """Cosine similarity, S(i, c) = i·c / (‖i‖ ‖c‖); the scores of a zero vector are 0.

    Args:
        images: (P, D).
        texts: (T, D).

    References:
        Vilalta et al., equation 2.

    Example:
        >>> cosine(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 3.0]]))
        tensor([[1., 0.]])
    """
    return F.normalize(images, dim=1) @ F.normalize(texts, dim=1).T


def order(images: Tensor, texts: Tensor) -> Tensor:
    """Order similarity, S(c, i) = −‖max(0, c − i)‖²: 0 if the image is at least the caption in every dimension.

    The (P, T, D) tensor of differences is never held in memory: it is computed block by block, and again for the
    gradient. If a loss uses few pairs only, as the maximum of hinges does, so does the gradient.

    Args:
        images: (P, D).
        texts: (T, D).

    References:
        Vilalta et al., equation 3; Vendrov et al., *Order-embeddings of images and language*, 2015.

    Example:
        >>> order(torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 0.0], [3.0, 1.0]]))
        tensor([[-0., -4.]])
    """
    precise = torch.promote_types(torch.promote_types(images.dtype, texts.dtype), torch.float32)
    scores: Tensor = _Order.apply(images.to(precise), texts.to(precise))
    return scores


def euclidean(images: Tensor, texts: Tensor) -> Tensor:
    """Negative Euclidean distance, S(i, c) = −‖i − c‖, not squared.

    Kolluru's branches have outputs of unit length, so distances are between 0 and 2 and margins do not depend on the
    dimension. The gradient of two equal vectors is defined as 0.

    Args:
        images: (P, D).
        texts: (T, D).

    References:
        Kolluru, equations 1 to 3.

    Example:
        >>> euclidean(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([[-5.]])
    """
    return -torch.cdist(images, texts)


SIMILARITIES: dict[str, Similarity] = {"cosine": cosine, "order": order, "euclidean": euclidean}


def similarity_by_name(name: str) -> Similarity:
    """A similarity by its name in recipes.

    Args:
        name: `cosine`, `order` or `euclidean`.

    Example:
        >>> similarity_by_name("order").__name__
        'order'
    """
    if name not in SIMILARITIES:
        raise SeetellError(f"there is no similarity {name!r}", remedy=did_you_mean(name, SIMILARITIES))
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
    """max(0, c − i) of a block of images and all texts, (rows, T, D), in a buffer that every block reuses."""
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
