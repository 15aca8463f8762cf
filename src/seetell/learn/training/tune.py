"""Search for better settings of a recipe; only the validation split is used.

The recipe's `[tune]` table lists the settings to try, each with a range (`{ low, high, log }`) or a list of choices.
Trials are runs of their own; the study is a database next to them, so that a stopped search can be resumed, and several
processes can work on one study.

    OUT/study.db, OUT/trials/<n>/, OUT/tune.md, OUT/tune.png
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna

from seetell.errors import SeetellError
from seetell.figures.page import Command, Figure, Heading, Page, Paragraph, Table
from seetell.files import replacing
from seetell.learn.recipes import RecipeError, load_recipe
from seetell.learn.training.features import dataset_kind
from seetell.learn.training.loop import DivergedError, State
from seetell.learn.training.train import train
from seetell.progress import SILENT, Progress


def tune(
    name: str,
    data: Sequence[str],
    out: Path,
    *,
    trials: int,
    dataset: str | None = None,
    budget: str = "two-cores",
    settings: Sequence[str] = (),
    store: Path | None = None,
    progress: Progress = SILENT,
) -> Path:
    """Run trials until the study in `out` has `trials` finished ones, and write its page.

    Args:
        name: the recipe's name or file.
        data: addresses of datasets.
        dataset: their kind, where the addresses do not show it (see `dataset_kind`).
        settings: overrides for every trial.
        store: the folder of feature stores; None: the default.
    """
    kind = dataset_kind(data, dataset)
    space = load_recipe(name, dataset=kind, budget=budget, settings=settings).tune
    if not space:
        raise RecipeError("there is nothing to tune", where=name, remedy="Add a [tune] table to the recipe")
    study = open_study(out, name)

    def objective(trial: optuna.Trial) -> float:
        chosen = [f"{key}={_suggest(trial, key, options)!r}" for key, options in space.items()]
        progress.message(f"trial {trial.number}: {', '.join(chosen)}")
        recipe = load_recipe(name, dataset=kind, budget=budget, settings=[*settings, *chosen])

        def hopeless(state: State) -> bool:
            if state.history and state.step == 1:
                trial.report(max(record["score"] for record in state.history), len(state.history))
                return trial.should_prune()
            return False

        folder = out / "trials" / str(trial.number)
        try:
            run = train(recipe, data, folder, store=store, progress=progress, stop=hopeless)
        except DivergedError as error:
            raise optuna.TrialPruned(str(error)) from error
        best = run.best
        if best is None or (not run.finished and trial.should_prune()):
            raise optuna.TrialPruned
        return float(best["score"])

    remaining = trials - len(_over(study))
    study.optimize(objective, n_trials=max(0, remaining))
    return write_page(study, name, data, out)


def open_study(out: Path, name: str) -> optuna.Study:
    """Open the study of a folder, or start one. Trials that a stopped process left unfinished do not count."""
    out.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name="tune",
        storage=f"sqlite:///{(out / 'study.db').as_posix()}",
        direction="maximize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=1, multivariate=True),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=3),
    )
    if study.user_attrs.setdefault("recipe", name) != name:
        raise SeetellError(
            f"this folder has a study of {study.user_attrs['recipe']}", where=str(out), remedy="Choose another --out"
        )
    study.set_user_attr("recipe", name)
    return study


def _suggest(trial: optuna.Trial, key: str, options: Any) -> Any:
    if isinstance(options, list):
        return trial.suggest_categorical(key, options)
    if isinstance(options, Mapping) and {"low", "high"} <= options.keys():
        low, high, log = options["low"], options["high"], bool(options.get("log", False))
        if isinstance(low, int) and isinstance(high, int):
            return trial.suggest_int(key, low, high, log=log)
        return float(f"{trial.suggest_float(key, low, high, log=log):.6g}")
    raise RecipeError(f"{key} is {options!r}", where="[tune]", remedy="Give a list, or { low = …, high = … }")


def _over(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return study.get_trials(states=(optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED))


def write_page(study: optuna.Study, name: str, data: Sequence[str], out: Path) -> Path:
    """Write the page of a study: the trials, best first, and the importance of each setting."""
    trials = _over(study)
    done = [trial for trial in trials if trial.state == optuna.trial.TrialState.COMPLETE]
    if not done:
        raise SeetellError("no trial has finished yet", where=str(out))
    best = study.best_trial
    keys = list(best.params)
    importance = _importance(study) if len(done) > 3 else {}
    page = Page(f"Tuning of {name}")
    page.add(
        Paragraph(
            f"{len(trials)} trials on {', '.join(address.partition(':')[0] for address in data)}, "
            f"{len(trials) - len(done)} of them stopped early. "
            f"The best validation score is {best.value:.2f} (trial {best.number})."
        ),
        Command(f"seetell learn train {name} " + " ".join(f"--set {k}={v}" for k, v in best.params.items())),
    )
    if importance:
        rows = [[key, f"{100 * share:.0f}%"] for key, share in importance.items()]
        page.add(Heading("Importance of settings"), Table(["setting", "share of the variance"], rows))
        _draw(study, importance, out / "tune.png")
        page.add(Figure("tune.png", "The validation score by setting"))
    ranked = sorted(done, key=lambda trial: -(trial.value or 0.0))
    rows = [[str(t.number), f"{t.value:.2f}", *(_shown(t.params.get(key)) for key in keys)] for t in ranked]
    page.add(Heading("Trials"), Table(["trial", "score", *keys], rows))
    page.write(out, "tune")
    return out / "tune.md"


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _importance(study: optuna.Study) -> dict[str, float]:
    return dict(
        optuna.importance.get_param_importances(study, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
    )


def _draw(study: optuna.Study, importance: Mapping[str, float], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    done = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    figure, axes = pyplot.subplots(1, len(importance), figsize=(3.2 * len(importance), 3.2), sharey=True, squeeze=False)
    for axis, (key, share) in zip(axes[0], importance.items(), strict=True):
        points = [(trial.params[key], trial.value) for trial in done if key in trial.params]
        axis.scatter([x for x, _ in points], [y for _, y in points], c=range(len(points)), cmap="viridis", s=24)
        distribution = done[0].distributions[key]
        if getattr(distribution, "log", False):
            axis.set_xscale("log")
        axis.set_title(f"{key}\n{100 * share:.0f}%", fontsize=9)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("validation score")
    figure.tight_layout()
    with replacing(path) as part:
        figure.savefig(part, format="png", dpi=110)
    pyplot.close(figure)
