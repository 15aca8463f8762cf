from seetell.text.wordpiece import WordPieces

PIECES = {"a", "un", "##icy", "##cle", "uni", "##cycle", "dog", "##s", "don", "'", "t", ".", "cafe", "日", "本", "$"}


def test_the_longest_piece_is_taken_first() -> None:
    cut = WordPieces(PIECES)
    assert cut("unicycle") == ["uni", "##cycle"]
    assert cut("unicyclecle") == ["uni", "##cycle", "##cle"]
    assert cut("dogs") == ["dog", "##s"]


def test_words_are_small_plain_and_apart_from_punctuation() -> None:
    cut = WordPieces(PIECES)
    assert cut("A Café.") == ["a", "cafe", "."]
    assert cut("don't") == ["don", "'", "t"]
    assert cut("$dog\tdog\n") == ["$", "dog", "dog"]
    assert cut("日本") == ["日", "本"]
    assert cut("do\u200bg\0\ufffd") == ["dog"]


def test_a_word_without_pieces_stays_whole() -> None:
    cut = WordPieces(PIECES)
    assert cut("unicat dog") == ["unicat", "dog"]
    assert cut("a" * 101) == ["a" * 101]
    assert cut(" \n") == []
