"""Small decoders whose every sequence can be listed, and slow searches over them."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from seetell.decoding import Attended, Rules

START, END = 0, 1
Sequence = tuple[int, ...]


@dataclass
class Recurrent:
    """A random recurrent model: what follows depends on the image and on all that was written.

    Sums run within a row only, so that a row's numbers are the same, to the last bit, in any batch.
    """

    words: int = 5
    size: int = 6
    seed: int = 0
    sharpness: float = 2.0
    rows_seen: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(self.seed)
        self.embed = rng.normal(size=(self.words, self.size))
        self.mix = rng.normal(size=(self.size, self.size))
        self.out = rng.normal(size=(self.words, self.size)) * self.sharpness

    def features(self, images: int) -> np.ndarray:
        return np.random.default_rng(self.seed + 1000).normal(size=(images, self.size))

    def start(self, features: np.ndarray) -> np.ndarray:
        return features.copy()

    def step(self, tokens: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, Attended]:
        assert len(tokens) == len(state)
        self.rows_seen.append(len(tokens))
        state = np.tanh((state[:, None, :] * self.mix).sum(-1) + self.embed[tokens])
        logits = (state[:, None, :] * self.out).sum(-1)
        log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        weights = np.exp(state[:, :3]) / np.exp(state[:, :3]).sum(axis=1, keepdims=True)
        return log_probs, state, Attended(weights, 1 / (1 + np.exp(-state[:, 3])))

    def select(self, state: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return state[rows]

    def follow(self, feature: np.ndarray, tokens: Sequence) -> tuple[list[float], np.ndarray, np.ndarray]:
        """The log-probability of each token, the attention and the gate, when these tokens are forced."""
        state, last, logs, weights, gates = self.start(feature[None]), START, [], [], []
        for token in tokens:
            log_probs, state, looked = self.step(np.array([last]), state)
            logs.append(float(log_probs[0, token]))
            weights.append(looked.weights[0])
            gates.append(looked.gate[0])
            last = token
        return logs, np.array(weights), np.array(gates)


def repeats(tokens: Sequence, n: int) -> bool:
    grams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)]
    return n > 0 and len(set(grams)) < len(grams)


def lawful(tokens: Sequence, rules: Rules) -> bool:
    return (
        rules.min_length <= len(tokens) <= rules.max_length
        and not {rules.start, rules.end, *rules.forbidden} & set(tokens)
        and not repeats(tokens, rules.block_ngrams)
    )


def all_sequences(words: int, rules: Rules) -> Iterator[Sequence]:
    for length in range(rules.max_length + 1):
        yield from (each for each in itertools.product(range(words), repeat=length) if lawful(each, rules))


def exhaustive(model: Recurrent, feature: np.ndarray, rules: Rules, alpha: float) -> list[tuple[float, Sequence]]:
    """Every lawful sequence with its score, best first."""
    scored = []
    for tokens in all_sequences(model.words, rules):
        logs, _, _ = model.follow(feature, (*tokens, rules.end))
        scored.append((sum(logs) / (len(tokens) + 1) ** alpha, tokens))
    return sorted(scored, key=lambda pair: -pair[0])


def slow_beam(
    model: Recurrent, feature: np.ndarray, rules: Rules, beam: int, alpha: float, required: int | None = None
) -> list[tuple[float, Sequence]]:
    """Beam search as one would write it down: one image, lists, no early end."""
    live, lacking, finished = [(0.0, ())], [], []
    if required is not None:
        live, lacking = lacking, live
    for done in range(rules.max_length + 1):
        options = []
        for total, tokens in [*live, *lacking]:
            for token in range(model.words):
                if token == rules.end:
                    allowed = done >= rules.min_length
                else:
                    allowed = lawful((*tokens, token), _without_least(rules))
                if allowed:
                    logs, _, _ = model.follow(feature, (*tokens, token))
                    options.append((total + logs[-1], token, tokens))
        options.sort(key=lambda option: -option[0])
        if required is not None:
            lacking = [
                (total, (*tokens, token))
                for total, token, tokens in options
                if token != rules.end and required not in (*tokens, token)
            ][:beam]
            options = [option for option in options if required in (*option[2], option[1])]
        finished += [
            (total / (done + 1) ** alpha, tokens) for total, token, tokens in options[:beam] if token == rules.end
        ]
        live = [(total, (*tokens, token)) for total, token, tokens in options if token != rules.end][:beam]
    return sorted(finished, key=lambda pair: -pair[0])


def _without_least(rules: Rules) -> Rules:
    return Rules(rules.start, rules.end, rules.max_length, 0, rules.forbidden, rules.block_ngrams)


def slow_greedy(model: Recurrent, feature: np.ndarray, rules: Rules) -> Sequence:
    tokens: Sequence = ()
    while True:
        best, chosen = -math.inf, rules.end
        for token in range(model.words):
            if token == rules.end:
                allowed = len(tokens) >= rules.min_length
            else:
                allowed = lawful((*tokens, token), _without_least(rules))
            logs, _, _ = model.follow(feature, (*tokens, token))
            if allowed and logs[-1] > best:
                best, chosen = logs[-1], token
        if chosen == rules.end:
            return tokens
        tokens = (*tokens, chosen)
