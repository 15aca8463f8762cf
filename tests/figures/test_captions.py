"""Sheets of the best, the worst and random captions."""

from PIL import Image

from seetell.figures.captions import CaptionExample, caption_sheets


def test_only_the_chosen_images_are_opened() -> None:
    opened: list[int] = []

    def example(number: int) -> CaptionExample:
        def read() -> Image.Image:
            opened.append(number)
            return Image.new("RGB", (20, 20))

        return CaptionExample(read, f"caption {number}", ["one", "two"], score=float(number * 7 % 10))

    sheets = caption_sheets([example(n) for n in range(10)], count=3)
    assert list(sheets) == ["best", "worst", "random"]
    assert opened[:3] == [7, 4, 1]  # scores 9, 8, 7
    assert opened[3:6] == [0, 3, 6]  # scores 0, 1, 2
    assert len(set(opened[6:])) == 3
    again: list[int] = opened.copy()
    opened.clear()
    caption_sheets([example(n) for n in range(10)], count=3)
    assert opened == again


def test_fewer_captions_than_asked_for_are_all_shown() -> None:
    one = CaptionExample(lambda: Image.new("RGB", (20, 20)), "a dog", ["a cat"], 1.0)
    assert all(sheet.width > 200 for sheet in caption_sheets([one], count=5).values())
