"""The training loop: phases, epochs, validation, checkpoints, exact resume. It works with any `Task`.

All randomness is derived from (seed, phase, epoch, step), never carried over: a run that is stopped at any step and
resumed on the same machine continues bit for bit.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from seetell.errors import SeetellError
from seetell.learn.recipes import Phase, Recipe, TrainingSettings
from seetell.learn.training import checkpoints
from seetell.learn.training.batching import prefetch
from seetell.learn.training.checkpoints import Checkpoint
from seetell.learn.training.task import Task, Validation
from seetell.progress import SILENT, Progress

SAVE_EVERY = 600.0  # seconds between checkpoints within an epoch
SCALED = "16-mixed"  # the precision whose gradients overflow now and then; such steps are skipped


class DivergedError(SeetellError):
    """The loss or its gradient is no longer a number."""


@dataclass
class State:
    """How far training is."""

    phase: int = 0
    epoch: int = 0  # of the phase, from 0
    step: int = 0  # of the epoch, from 0
    loss: float = 0.0  # summed over the epoch's samples so far
    samples: int = 0
    seconds: float = 0.0  # of the epoch so far
    best: float | None = None
    since_best: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)


class KeptWeights:
    """The weights that are validated and saved, where they differ from the trained ones: their exponential moving
    average, which often validates better, an interpolation with the weights the phase started from, or both.

    Args:
        decay: of the average; 0: no average.
        blend: the share of the weights the phase started from.
    """

    def __init__(self, module: nn.Module, decay: float, blend: float) -> None:
        self.module, self.decay, self.blend, self.updates = module, decay, blend, 0
        trained = {name: p.detach() for name, p in module.named_parameters() if p.requires_grad}
        self.average = {name: p.clone() for name, p in trained.items()} if decay else {}
        self.first = {name: p.clone() for name, p in trained.items()} if blend else {}

    def update(self) -> None:
        if not self.average:
            return
        self.updates += 1
        decay = min(self.decay, (1 + self.updates) / (10 + self.updates))  # the start is forgotten quickly
        with torch.no_grad():
            for name, parameter in self.module.named_parameters():
                if name in self.average:
                    self.average[name].lerp_(parameter, 1 - decay)

    def values(self) -> dict[str, Tensor]:
        """The weights to save in place of the trained ones; empty where these are saved as they are."""
        if not self.blend:
            return self.average
        trained = self.average or {n: p.detach() for n, p in self.module.named_parameters() if n in self.first}
        return {name: value.lerp(self.first[name], self.blend) for name, value in trained.items()}

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Use these weights in the module within the block."""
        values = self.values()
        parameters = {n: p for n, p in self.module.named_parameters() if n in values}
        trained = {name: p.detach().clone() for name, p in parameters.items()}
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(values[name])
        try:
            yield
        finally:
            with torch.no_grad():
                for name, parameter in parameters.items():
                    parameter.copy_(trained[name])

    def tensors(self) -> dict[str, Tensor]:
        """What a checkpoint must hold."""
        return {f"{kind}.{n}": value for kind in ("average", "first") for n, value in getattr(self, kind).items()}

    def restore(self, tensors: Mapping[str, Tensor], updates: int) -> None:
        self.updates = updates
        for kind in ("average", "first"):
            kept = getattr(self, kind)
            for name, value in kept.items():
                kept[name] = tensors[f"{kind}.{name}"].to(value.device)


class Loop:
    """Trains a task by a recipe into a run's folder.

    Args:
        log: called with the history after every epoch.
        stop: called with the state after every step; training stops there, as if killed, when it returns True.
    """

    def __init__(
        self,
        task: Task,
        recipe: Recipe,
        run: Path,
        fabric: Fabric,
        *,
        progress: Progress = SILENT,
        log: Callable[[Sequence[Mapping[str, Any]]], object] = lambda history: None,
        stop: Callable[[State], bool] = lambda state: False,
    ) -> None:
        self.task, self.recipe, self.run, self.fabric = task, recipe, run, fabric
        self.progress, self.log, self.stop = progress, log, stop
        self.state = State()
        self.task.to(fabric.device)

    def fit(self, *, resume: bool = False) -> list[dict[str, Any]]:
        """Train every phase to its end, and return the history: one record per epoch."""
        checkpoint = checkpoints.load(self.run, "last") if resume and checkpoints.exists(self.run, "last") else None
        if checkpoint is not None:
            self.state = State(**checkpoint.state["progress"])
        while self.state.phase < len(self.recipe.phases):
            if not self._phase(self.recipe.phases[self.state.phase], checkpoint):
                return self.state.history  # stopped
            checkpoint = None
            self.state.phase += 1
            self.state.epoch = self.state.since_best = 0
        return self.state.history

    def _phase(self, phase: Phase, checkpoint: Checkpoint | None) -> bool:
        """Train one phase; False when it was stopped."""
        settings, state = self.recipe.training, self.state
        self.task.begin(phase)
        if checkpoint is not None:
            self.task.load_state_dict(checkpoint.model)
        elif state.phase > 0:
            self._load_model(checkpoints.load(self.run, "best"))
        optimiser = make_optimiser(settings, self.task.parameter_groups(phase.learning_rate))
        kept = KeptWeights(self.task, settings.average, phase.blend)
        if checkpoint is not None:
            checkpoints.restore_optimiser(optimiser, checkpoint.training, checkpoint.state["optimiser"])
            kept.restore(checkpoint.training, checkpoint.state["updates"])
        module, optimiser = self.fabric.setup(self.task, optimiser)
        while state.epoch < phase.epochs and not (phase.patience and state.since_best >= phase.patience):
            if not self._epoch(phase, module, optimiser, kept):
                return False
            self._end_epoch(self._validate(kept), kept)
            self._save_last(optimiser, kept)
        return True

    def _epoch(self, phase: Phase, module: nn.Module, optimiser: torch.optim.Optimizer, kept: KeptWeights) -> bool:
        """Train the rest of an epoch; False when it was stopped."""
        state, fabric = self.state, self.fabric
        seed = (self.recipe.training.seed, state.phase, state.epoch)
        plan = self.task.plan(phase, np.random.default_rng(seed))
        steps = len(plan) // fabric.world_size  # the same number in every process
        todo = [(step, plan[step * fabric.world_size + fabric.global_rank]) for step in range(state.step, steps)]
        batches = prefetch(
            todo, lambda item: self.task.collate(item[1], np.random.default_rng((*seed, item[0], fabric.global_rank)))
        )
        first, total = state.epoch * steps, phase.epochs * steps
        saved = started = time.monotonic()
        before = state.seconds
        self.task.train()
        name = f"Epoch {state.epoch + 1}/{phase.epochs}" + (
            f", phase {state.phase + 1}/{len(self.recipe.phases)}" if len(self.recipe.phases) > 1 else ""
        )
        with self.progress.task(name, total=steps, unit="batches", skipped=state.step) as shown:
            for (step, _), batch in batches:
                torch.manual_seed(_mixed((*seed, step, fabric.global_rank)))
                factor = rate_factor(phase, (first + step) / total)
                for group in optimiser.param_groups:
                    group["lr"] = group["initial_lr"] * factor
                logs = self._step(module, optimiser, fabric.to_device(batch), step)
                kept.update()
                state.step = step + 1
                now = time.monotonic()
                state.seconds = before + now - started
                shown.advance(note=self._note(logs))
                if self.stop(state):
                    return False
                if now - saved > SAVE_EVERY and state.step < steps:
                    saved = now
                    self._save_last(optimiser, kept)
        return True

    def _step(self, module: nn.Module, optimiser: torch.optim.Optimizer, batch: Any, step: int) -> Mapping[str, Tensor]:
        """One batch: loss, gradients, update."""
        fabric, settings = self.fabric, self.recipe.training
        loss, logs = module(batch)
        optimiser.zero_grad(set_to_none=True)
        fabric.backward(loss)
        value = float(loss.detach())
        self._check_finite("loss", value, step)
        if settings.clip:
            norm = fabric.clip_gradients(module, optimiser, max_norm=settings.clip, error_if_nonfinite=False)
            if norm is not None and settings.precision != SCALED:  # once clipped, an infinite norm is no longer visible
                self._check_finite("gradient", float(norm), step)
        optimiser.step()
        size = self.task.size(batch)
        self.state.loss += value * size
        self.state.samples += size
        found: Mapping[str, Tensor] = logs
        return found

    def _check_finite(self, what: str, value: float, step: int) -> None:
        if not math.isfinite(value):
            clip = "" if self.recipe.training.clip else " or clip gradients (--set training.clip=2)"
            raise DivergedError(
                f"the {what} became {value} in epoch {self.state.epoch + 1}, batch {step + 1}",
                where=str(self.run),
                remedy=f"Lower the learning rate (--set phases.learning_rate=…){clip}, and train again",
            )

    def _note(self, logs: Mapping[str, Tensor]) -> str:
        rate = self.state.samples / self.state.seconds if self.state.seconds else 0.0
        figures = [f"loss {self.state.loss / max(1, self.state.samples):.4g}", f"{rate:.0f} samples/s"]
        figures += [f"{name} {float(value):.3g}" for name, value in logs.items()]
        if self.state.history:
            figures.append(f"validation {self.state.history[-1]['score']:.1f}, best {self.state.best:.1f}")
        return " · ".join(figures)

    def _validate(self, kept: KeptWeights) -> Validation:
        self.task.eval()
        with torch.inference_mode(), kept.in_place():
            return self.task.validate()

    def _end_epoch(self, validation: Validation, kept: KeptWeights) -> None:
        state = self.state
        record: dict[str, Any] = {
            "phase": state.phase + 1,
            "epoch": state.epoch + 1,
            "loss": state.loss / max(1, state.samples),
            "samples": state.samples,
            "seconds": round(state.seconds, 2),
            "score": validation.score,
            "metrics": dict(validation.metrics),
        }
        improved = state.best is None or validation.score > state.best
        state.since_best = 0 if improved else state.since_best + 1
        state.best = validation.score if improved else state.best
        record["best"] = improved
        state.history.append(record)
        if advice := self.task.advice(state.history):
            record["advice"] = advice
            self.progress.message(advice)
        state.epoch += 1
        state.step, state.loss, state.samples, state.seconds = 0, 0.0, 0, 0.0
        if improved and self.fabric.is_global_zero:
            weights = {**self.task.state_dict(), **kept.values()}
            where = {"phase": record["phase"], "epoch": record["epoch"]}
            checkpoints.save(self.run, "best", Checkpoint(weights, {}, {**where, "score": validation.score}))
        self.log(state.history)

    def _save_last(self, optimiser: torch.optim.Optimizer, kept: KeptWeights) -> None:
        if not self.fabric.is_global_zero:
            return
        tensors, numbers = checkpoints.flatten_optimiser(optimiser)
        state = {"progress": asdict(self.state), "optimiser": numbers, "updates": kept.updates}
        checkpoints.save(self.run, "last", Checkpoint(self.task.state_dict(), tensors | kept.tensors(), state))

    def _load_model(self, checkpoint: Checkpoint) -> None:
        """Take the model from a checkpoint, without the loss: every phase has its own."""
        model = {k.removeprefix("model."): v for k, v in checkpoint.model.items() if k.startswith("model.")}
        self.task.model.load_state_dict(model)


def make_optimiser(settings: TrainingSettings, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    """The optimiser of a recipe; each group remembers its own learning rate for the schedule."""
    for group in groups:
        group["initial_lr"] = group["lr"]
    match settings.optimiser:
        case "adam":
            return torch.optim.Adam(groups, weight_decay=settings.weight_decay, fused=True)
        case "adamw":
            return torch.optim.AdamW(groups, weight_decay=settings.weight_decay, fused=True)
        case "rmsprop":
            return torch.optim.RMSprop(groups, weight_decay=settings.weight_decay)
    raise SeetellError(f"there is no optimiser {settings.optimiser!r}", remedy="Choose one of: adam, adamw, rmsprop")


def rate_factor(phase: Phase, done: float) -> float:
    """The factor of the learning rate when a share `done` (0…1) of the phase is over."""
    if done < phase.warmup:
        return max(done / phase.warmup, 0.01)
    match phase.schedule:
        case "constant":
            return 1.0
        case "cosine":
            share = (done - phase.warmup) / max(1e-9, 1 - phase.warmup)
            return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * min(1.0, share)))
    raise SeetellError(f"there is no schedule {phase.schedule!r}", remedy="Choose constant or cosine")


def _mixed(numbers: tuple[int, ...]) -> int:
    """One seed made of several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
