"""Self-critical training (the reinforcement of Vaishali's survey; Rennie et al.): captions are sampled, scored, and made
more or less probable.

For each image some captions are sampled from the model without gradients, through `seetell.decoding`; each is scored
against the image's references; then one teacher-forced pass over the samples gives their log-probabilities with
gradients. The reward is CIDEr, or a mix of metrics, with n-gram statistics of the training split. The end of a caption
counts as a word in captions and references; otherwise it would pay to stop in the middle of a phrase.

The baseline is the mean reward of an image's other samples, or the reward of its greedy caption as in the original.

Both passes are made in evaluation mode, without dropout, so that the distribution that is updated is the one that was
sampled from.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from seetell.decoding import Decoded, Rules, greedy, sample
from seetell.learn.losses.captions import CrossEntropy, SelfCritical, others_mean, word_log_likelihoods
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.recipes import RecipeError
from seetell.learn.tasks.captioning.objectives import Batch, Logs, Objective, split
from seetell.metrics.captions.bleu import bleu
from seetell.metrics.captions.cider import Cider
from seetell.metrics.captions.corpus import Corpus

METRICS = ("cider", "bleu4")


class Rewards:
    """Scores sampled captions, as word indices, against the training split's references.

    Args:
        references: each training image's captions, with the end mark.
        weights: of each metric, as a fraction and not in per cent.
    """

    def __init__(self, references: Sequence[Sequence[Sequence[int]]], weights: Mapping[str, float]) -> None:
        if unknown := sorted(weights.keys() - set(METRICS)):
            raise RecipeError(
                f"captions cannot be rewarded by {unknown[0]!r}", where="reward", remedy=f"Use: {', '.join(METRICS)}"
            )
        self.references, self.weights = references, dict(weights)
        self.cider = Cider(references) if weights.get("cider") else None

    def __call__(self, captions: Sequence[Sequence[int]], images: np.ndarray) -> np.ndarray:
        """One reward per caption; `images` is the image of each."""
        total = np.zeros(len(captions))
        if self.cider is not None:
            total += self.weights["cider"] * self.cider.scores(captions, images) / 100
        if self.weights.get("bleu4"):
            corpus = Corpus(captions, [self.references[image] for image in images])
            total += self.weights["bleu4"] * bleu(corpus).images[3] / 100
        return total


class SelfCriticalObjective(Objective):
    """The self-critical loss, with an optional likelihood term.

    Args:
        references: each training image's captions as word indices, with the end mark.
        rules: how captions are generated.
        samples: captions sampled for each image.
        baseline: "others" (the mean of an image's other samples) or "greedy".
        reward: metric → weight.
        likelihood: the weight of −log p(y | a), which keeps the language fluent.
        temperature: divides the logits of the distribution that is sampled from and updated. Label smoothing leaves a
            tenth of every word's probability to noise; below 1, less of it is sampled.
    """

    by_image = True

    def __init__(
        self,
        references: Sequence[Sequence[Sequence[int]]],
        rules: Rules,
        samples: int = 5,
        baseline: Literal["others", "greedy"] = "others",
        reward: Mapping[str, float] | None = None,
        likelihood: float = 0.0,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        if baseline not in ("others", "greedy"):
            raise RecipeError(f"there is no baseline {baseline!r}", where="[[phases]] loss", remedy="others or greedy")
        if baseline == "others" and samples < 2:
            raise RecipeError("one sample has no others", where="[[phases]] loss", remedy="Set baseline = 'greedy'")
        if temperature <= 0:
            raise RecipeError(f"the temperature is {temperature}", where="[[phases]] loss", remedy="It must be above 0")
        self.rules, self.samples, self.baseline, self.likelihood = rules, samples, baseline, likelihood
        self.temperature = temperature
        self.rewards = Rewards(references, reward or {"cider": 1.0})
        self.loss, self.cross_entropy = SelfCritical(per="word"), CrossEntropy()

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        trained = model.training
        model.eval()
        try:
            loss, logs = self._reinforce(model, batch)
        finally:
            model.train(trained)
        if self.likelihood:
            read, words, mask = split(batch.tokens)
            likelihood = self.cross_entropy(model(batch.features, read, batch.rows).logits, words, mask)
            loss = loss + self.likelihood * likelihood
        return loss, logs

    def _reinforce(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        decoder, features = TorchDecoder(model), batch.features.cpu().numpy()
        drawn = sample(
            decoder, features, self.rules, samples=self.samples, temperature=self.temperature, seed=int(batch.seed)
        )
        images = batch.images.cpu().numpy()
        of = np.repeat(np.arange(len(images)), self.samples)
        captions = [self._whole(one) for group in drawn for one in group]
        rewards = torch.from_numpy(self.rewards(captions, images[of])).float().to(batch.features.device)
        if self.baseline == "greedy":
            best = [self._whole(one) for one in greedy(decoder, features, self.rules)]
            baselines = torch.from_numpy(self.rewards(best, images)).float().to(rewards)[torch.from_numpy(of)]
        else:
            baselines = others_mean(rewards.view(-1, self.samples)).flatten()
        read, words, mask = split(self._padded(captions).to(batch.features.device))
        logits = model(batch.features, read, torch.from_numpy(of).to(read.device)).logits
        # Words that are never sampled have no share in the distribution that captions were sampled from.
        never = torch.tensor([self.rules.start, *self.rules.forbidden], device=logits.device)
        likelihoods = word_log_likelihoods(
            logits.index_fill(2, never, float("-inf")) / self.temperature, words.masked_fill(~mask, self.rules.end)
        )
        return self.loss(likelihoods, mask, rewards, baselines), {"reward": rewards.mean()}

    def _whole(self, caption: Decoded) -> list[int]:
        """A caption's words and its end, unless it was cut off."""
        return [*caption.tokens.tolist(), *([self.rules.end] if caption.ended else [])]

    def _padded(self, captions: Sequence[Sequence[int]]) -> Tensor:
        tokens = torch.zeros(len(captions), 1 + max(map(len, captions)), dtype=torch.long)
        tokens[:, 0] = self.rules.start
        for row, caption in enumerate(captions):
            tokens[row, 1 : 1 + len(caption)] = torch.tensor(caption)
        return tokens
