"""Self-critical training (the reinforcement of Vaishali's survey; Rennie et al.): captions are sampled, scored, and
made more or less probable.

For each image some captions are sampled from the model without gradients, through `seetell.decoding`; each is scored
against the image's references; then one teacher-forced pass over the samples gives their log-probabilities with
gradients. The reward is CIDEr, or a mix of metrics, with n-gram statistics of the training split. The end of a caption
counts as a word in captions and references; otherwise it would pay to stop in the middle of a phrase.

The baseline is the mean reward of an image's other samples, or the reward of its greedy caption as in the original.

Both passes are made in evaluation mode, without dropout, so that the distribution that is updated is the one that was
sampled from.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from seetell.decoding import Decoded, Rules, greedy, sample
from seetell.learn.losses.captions import CrossEntropy, SelfCritical, others_mean, word_log_likelihoods
from seetell.learn.models.captioner import CaptionModel
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.recipes.loss_settings import RewardWeights, SelfCriticalSettings
from seetell.learn.tasks.captioning.objectives import Batch, Logs, Objective, split
from seetell.metrics.captions.bleu import bleu
from seetell.metrics.captions.cider import Cider
from seetell.metrics.captions.corpus import Corpus


class Rewards:
    """Scores sampled captions, as word indices, against the training split's references.

    Args:
        references: each training image's captions, with the end mark.
        weights: of each metric, as a fraction and not in per cent.
    """

    def __init__(self, references: Sequence[Sequence[Sequence[int]]], weights: RewardWeights) -> None:
        self.references, self.weights = references, weights
        self.cider = Cider(references) if weights.cider else None

    def __call__(self, captions: Sequence[Sequence[int]], images: np.ndarray) -> np.ndarray:
        """One reward per caption; `images` is the image of each."""
        total = np.zeros(len(captions))
        if self.cider is not None:
            total += self.weights.cider * self.cider.scores(captions, images) / 100
        if self.weights.bleu4:
            corpus = Corpus(captions, [self.references[image] for image in images])
            total += self.weights.bleu4 * bleu(corpus).images[3] / 100
        return total


class SelfCriticalObjective(Objective):
    """The self-critical loss, with an optional likelihood term.

    Args:
        references: each training image's captions as word indices, with the end mark.
        rules: how captions are generated.
        settings: see `SelfCriticalSettings`. Label smoothing leaves a tenth of every word's probability to noise; with
            a temperature below 1, less of it is sampled.
    """

    by_image = True

    def __init__(
        self,
        references: Sequence[Sequence[Sequence[int]]],
        rules: Rules,
        settings: SelfCriticalSettings = SelfCriticalSettings(),  # noqa: B008
    ) -> None:
        super().__init__()
        self.rules, self.settings = rules, settings
        self.rewards = Rewards(references, settings.reward)
        self.loss, self.cross_entropy = SelfCritical(per="word"), CrossEntropy()

    def forward(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        trained = model.training
        model.eval()
        try:
            loss, logs = self._reinforce(model, batch)
        finally:
            model.train(trained)
        if self.settings.likelihood:
            read, words, mask = split(batch.tokens)
            likelihood = self.cross_entropy(model(batch.features, read, batch.rows).logits, words, mask)
            loss = loss + self.settings.likelihood * likelihood
        return loss, logs

    def _reinforce(self, model: CaptionModel, batch: Batch) -> tuple[Tensor, Logs]:
        decoder, features = TorchDecoder(model), batch.features.cpu().numpy()
        samples, temperature = self.settings.samples, self.settings.temperature
        drawn = sample(decoder, features, self.rules, samples=samples, temperature=temperature, seed=int(batch.seed))
        images = batch.images.cpu().numpy()
        of = np.repeat(np.arange(len(images)), samples)
        captions = [self._with_end(caption) for group in drawn for caption in group]
        rewards = torch.from_numpy(self.rewards(captions, images[of])).float().to(batch.features.device)
        if self.settings.baseline == "greedy":
            best = [self._with_end(caption) for caption in greedy(decoder, features, self.rules)]
            baselines = torch.from_numpy(self.rewards(best, images)).float().to(rewards)[torch.from_numpy(of)]
        else:
            baselines = others_mean(rewards.view(-1, samples)).flatten()
        read, words, mask = split(self._padded(captions).to(batch.features.device))
        logits = model(batch.features, read, torch.from_numpy(of).to(read.device)).logits
        # Words that are never sampled have no share in the distribution that captions were sampled from.
        never = torch.tensor([self.rules.start, *self.rules.forbidden], device=logits.device)
        likelihoods = word_log_likelihoods(
            logits.index_fill(2, never, float("-inf")) / temperature,
            words.masked_fill(~mask, self.rules.end),
        )
        return self.loss(likelihoods, mask, rewards, baselines), {"reward": rewards.mean()}

    def _with_end(self, caption: Decoded) -> list[int]:
        """A caption's words and its end, unless it was cut off."""
        return [*caption.tokens.tolist(), *([self.rules.end] if caption.ended else [])]

    def _padded(self, captions: Sequence[Sequence[int]]) -> Tensor:
        tokens = torch.zeros(len(captions), 1 + max(map(len, captions)), dtype=torch.long)
        tokens[:, 0] = self.rules.start
        for row, caption in enumerate(captions):
            tokens[row, 1 : 1 + len(caption)] = torch.tensor(caption)
        return tokens
