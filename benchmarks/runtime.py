"""Captions per second: a bundle compared with its checkpoint in eager PyTorch, one at a time and in batches.

    python benchmarks/runtime.py RUN BUNDLE IMAGES --count 200 --beam 3

RUN is a captioner's run, BUNDLE what was exported from it, IMAGES a folder. All variants read images from disk,
use all cores and must generate the same captions. Batches run twice: in the default memory format, and channels-last,
the fastest for PyTorch's convolutions on a CPU. Rounds are interleaved, so that a busy machine slows all of them; the
medians of wall-clock and processor time are reported.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from msgspec.structs import replace

from seetell.decoding import beam_search
from seetell.learn.encoders import Encoder
from seetell.learn.models.captioner import Captioner
from seetell.learn.models.decoder import TorchDecoder
from seetell.learn.tasks.captioning.decode import decoding_of, rules
from seetell.learn.training.run import Run
from seetell.runtime import open_model


def eager(run: Run, beam: int) -> Callable[..., list[str]]:
    """Captions by the checkpoint, so many images at a time."""
    encoder, model = Encoder.load(run.recipe.encoder.name).eval(), cast(Captioner, run.model())
    quick = Encoder.load(run.recipe.encoder.name).eval().to(memory_format=torch.channels_last)
    vocabulary = run.vocabulary
    assert vocabulary is not None
    settings = replace(decoding_of(run.recipe), beam=beam)
    layout, law = run.recipe.encoder.layout, rules(settings, vocabulary)

    def caption(paths: Sequence[Path], batch: int, channels_last: bool = False) -> list[str]:
        captions = []
        for start in range(0, len(paths), batch):
            pixels = np.concatenate([run.preparation.open(path) for path in paths[start : start + batch]])
            given = torch.from_numpy(pixels)
            if channels_last:
                given = given.contiguous(memory_format=torch.channels_last)
            features = (quick if channels_last else encoder).encode(given, [layout])[layout].numpy()
            for best, *_ in beam_search(TorchDecoder(model), features, law, beam=beam, alpha=settings.alpha):
                captions.append(" ".join(vocabulary.decode(best.tokens.tolist())))
        return captions

    return caption


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--beam", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    paths = sorted(options.images.rglob("*.jpg"))[: options.count]
    checkpoint = eager(Run.open(options.run), options.beam)
    with open_model(options.bundle) as model:

        def runtime(given: Sequence[Path]) -> list[str]:
            return [" ".join(result.best.words) for result in model.captioner(given, beam=options.beam)]

        variants: dict[str, Callable[[Sequence[Path]], list[str]]] = {
            "runtime": runtime,
            "eager, one at a time": lambda given: checkpoint(given, 1),
            f"eager, batches of {options.batch}": lambda given: checkpoint(given, options.batch),
            f"eager, batches of {options.batch}, channels last": lambda given: checkpoint(given, options.batch, True),
        }
        seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
        captions: dict[str, list[str]] = {}
        for variant in variants.values():
            variant(paths[: options.batch])  # warm
        for _ in range(options.rounds):
            for name, variant in variants.items():
                begin, busy = time.perf_counter(), time.process_time()
                captions[name] = variant(paths)
                seconds[name].append((time.perf_counter() - begin, time.process_time() - busy))
                print(
                    f"{name}: {seconds[name][-1][0]:.1f} s, {seconds[name][-1][1]:.1f} s of processor", file=sys.stderr
                )
    rates = {name: len(paths) / statistics.median(clock for clock, _ in times) for name, times in seconds.items()}
    spent = {name: statistics.median(busy for _, busy in times) / len(paths) for name, times in seconds.items()}
    same = {
        name: sum(a == b for a, b in zip(captions["runtime"], other, strict=True)) for name, other in captions.items()
    }
    report: dict[str, Any] = {
        "images": len(paths),
        "beam": options.beam,
        "threads": model.threads,
        "images_a_second": {name: round(rate, 2) for name, rate in rates.items()},
        "times_faster": {name: round(rates["runtime"] / rate, 2) for name, rate in rates.items() if name != "runtime"},
        "processor_milliseconds_an_image": {name: round(1e3 * each, 1) for name, each in spent.items()},
        "words_per_caption": round(statistics.mean(len(each.split()) for each in captions["runtime"]), 1),
        "same_captions": same,
    }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
