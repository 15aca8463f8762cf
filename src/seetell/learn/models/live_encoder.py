"""A network that encodes images during training, instead of stored features.

Every model starts with a transform of its features. With a live encoder as its transform it reads pixels instead, and
the network can be fine-tuned jointly (Kolluru, section 3.1; Ren, section 6).
"""

import torch
from torch import Tensor, nn

from seetell.learn.encoders import Encoder
from seetell.learn.encoders.layouts import stages


class LiveEncoder(nn.Module):
    """An encoder and a transform of its features.

    Args:
        encoder: the network.
        layout: the feature layout that the model reads.
        then: the transform of its features.
        trained: whether the network's weights are trained; its batch normalisations keep their statistics either way,
            because small batches would distort them.
        frozen_stages: how many of the network's stages, from the first, stay fixed.
        learning_rate: of the network.
    """

    def __init__(
        self,
        encoder: Encoder,
        layout: str,
        then: nn.Module,
        trained: bool = True,
        frozen_stages: int = 0,
        learning_rate: float = 1e-5,
    ) -> None:
        super().__init__()
        self.encoder, self.layout, self.then, self.trained = encoder, layout, then, trained
        self.learning_rate = learning_rate
        encoder.requires_grad_(trained)
        if trained and frozen_stages:
            last = stages(encoder.network)[frozen_stages - 1][0]
            names = [name for name, _ in encoder.network.named_parameters()]  # in execution order
            end = max(i for i, name in enumerate(names) if name.startswith(f"{last}."))
            for name, parameter in encoder.network.named_parameters():
                parameter.requires_grad_(names.index(name) > end)

    def train(self, mode: bool = True) -> "LiveEncoder":
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, pixels: Tensor) -> Tensor:
        """(B, 3, H, W) prepared pixels → the layout's features, transformed."""
        with torch.set_grad_enabled(self.trained and torch.is_grad_enabled()):
            features = self.encoder(pixels, self.layout)
        transformed: Tensor = self.then(features)
        return transformed
