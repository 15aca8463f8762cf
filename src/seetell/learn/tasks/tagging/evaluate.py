"""Evaluate a tagging run: tag every image of a split and compare with its labels."""

import msgspec

from seetell.evaluation.options import EvaluationOptions
from seetell.learn.tasks.tagging.data import LabelledImages
from seetell.learn.tasks.tagging.decode import decoding_of, tag
from seetell.learn.tasks.tagging.sheets import write_tag_sheets
from seetell.learn.training.data import TrainingData, labelled
from seetell.learn.training.run import Run
from seetell.learn.training.task import Evaluation, Prediction


def evaluate(run: Run, data: TrainingData, split: str, options: EvaluationOptions) -> Evaluation:
    """Tag every image of a split with the best model of a run."""
    assert run.vocabulary is not None
    records, images = data.split(split, labelled)
    labels = LabelledImages.of(records, images, run.vocabulary)
    settings = decoding_of(run.recipe)
    if options.beam is not None:
        settings = msgspec.structs.replace(settings, beam=options.beam)
    tagged = tag(run.model(), images, run.vocabulary, settings, testing=True)
    if options.sheet is not None:
        name, history = run.recipe.name, run.history()
        write_tag_sheets(name, records, labels, tagged, run.vocabulary, history, options.sheet)
    unknown = labels.labels[len(run.vocabulary.words) :]
    predicted = (tuple(tagged.labels(index, run.vocabulary)) for index in range(len(records)))
    return Evaluation(
        tagged.scores(labels.truth),
        settings.protocol(sequence=tagged.sequences is not None),
        len(records),
        notes=(f"labels that no training image has: {', '.join(unknown)}",) if unknown else (),
        predictions=[Prediction(r.key, tuple(r.labels), found) for r, found in zip(records, predicted, strict=True)],
    )
