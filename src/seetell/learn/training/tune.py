"""Search for better settings of a recipe, by the validation split alone.

What may be tried stands in the recipe's `[tune]` table: a setting and its range (`{ low, high, log }`) or its choices
(a list). Trials are runs of their own; the study is a database beside them, so that a search that was stopped goes on,
and several processes may work on one.

    OUT/study.db, OUT/trials/<n>/, OUT/tune.md, OUT/tune.png
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna

from seetell.errors import SeetellError
from seetell.figures.page import Command, Figure, Heading, Page, Paragraph, Table
from seetell.learn.recipes import RecipeError, load
from seetell.learn.training.loop import DivergedError, State
from seetell.learn.training.run import train
from seetell.progress import SILENT, Progress


def tune(
    name: str,
    specs: Sequence[str],
    out: Path,
    *,
    trials: int,
    budget: str = "two-cores",
    settings: Sequence[str] = (),
    root: Path | None = None,
    progress: Progress = SILENT,
    say: Callable[[str], object] = lambda line: None,
) -> Path:
    """Bring the study in `out` to so many finished trials, and write its page."""
    kind = specs[0].partition(":")[0]
    space = load(name, dataset=kind, budget=budget, settings=settings).tune
    if not space:
        raise RecipeError("there is nothing to tune", where=name, remedy="Add a [tune] table to the recipe")
    study = open_study(out, name)

    def objective(trial: optuna.Trial) -> float:
        chosen = [f"{key}={_suggest(trial, key, options)!r}" for key, options in space.items()]
        say(f"trial {trial.number}: {', '.join(chosen)}")
        recipe = load(name, dataset=kind, budget=budget, settings=[*settings, *chosen])

        def hopeless(state: State) -> bool:
            if state.history and state.step == 1:
                trial.report(max(record["score"] for record in state.history), len(state.history))
                return trial.should_prune()
            return False

        folder = out / "trials" / str(trial.number)
        try:
            run = train(recipe, specs, folder, root=root, progress=progress, say=say, stop=hopeless)
        except DivergedError as error:
            raise optuna.TrialPruned(str(error)) from error
        history = run.history()
        if len(history) < sum(phase.epochs for phase in recipe.phases) and trial.should_prune():
            raise optuna.TrialPruned
        return float(max(record["score"] for record in history))

    remaining = trials - len(_over(study))
    study.optimize(objective, n_trials=max(0, remaining))
    return write_page(study, name, specs, out)


def open_study(out: Path, name: str) -> optuna.Study:
    """The study of a folder. What a stopped process left unfinished is neither counted nor learned from."""
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
            f"this study is of {study.user_attrs['recipe']}", where=str(out), remedy="Choose another --out"
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


def write_page(study: optuna.Study, name: str, specs: Sequence[str], out: Path) -> Path:
    """The trials, best first, and an image of what mattered."""
    trials = _over(study)
    done = [trial for trial in trials if trial.state == optuna.trial.TrialState.COMPLETE]
    if not done:
        raise SeetellError("no trial has finished yet", where=str(out))
    best = study.best_trial
    keys = list(best.params)
    importance = _importance(study) if len(done) > 3 else {}
    page = Page(f"Settings tried for {name}")
    page.add(
        Paragraph(
            f"{len(trials)} trials on {', '.join(spec.partition(':')[0] for spec in specs)}, "
            f"{len(trials) - len(done)} of them ended early. "
            f"The best validation score is {best.value:.2f} (trial {best.number})."
        ),
        Command(f"seetell learn train {name} " + " ".join(f"--set {k}={v}" for k, v in best.params.items())),
    )
    if importance:
        rows = [[key, f"{100 * share:.0f} %"] for key, share in importance.items()]
        page.add(Heading("What mattered"), Table(["setting", "share of the differences"], rows))
        _draw(study, importance, out / "tune.png")
        page.add(Figure("tune.png", "The validation score over each setting"))
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
        axis.set_title(f"{key}\n{100 * share:.0f} %", fontsize=9)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("validation score")
    figure.tight_layout()
    temporary = path.with_name(path.name + ".part")
    figure.savefig(temporary, format="png", dpi=110)
    pyplot.close(figure)
    temporary.replace(path)
