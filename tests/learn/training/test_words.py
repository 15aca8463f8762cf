from pathlib import Path

from seetell.learn.recipes import TextSettings
from seetell.learn.training.words import with_vectors
from seetell.text import Vocabulary


def test_extra_words_are_the_first_that_only_the_vectors_know(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 0\nDog 0 2\nat\xa0name 5 5\ncat 0 1\nsofa 1 1\n", encoding="utf-8")
    text = TextSettings(vectors=str(path), extra_words=1)
    vocabulary, vectors = with_vectors(Vocabulary(["a", "dog"]), text)
    assert vocabulary.words == ("a", "dog", "cat")  # neither in capitals nor with white space inside
    assert vectors.shape == (7, 2)
    assert vectors[vocabulary.encode(["cat"])[0]].tolist() == [0, 1]
