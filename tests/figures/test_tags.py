"""Sheets of tags."""

from PIL import Image

from seetell.figures.tags import RIGHT, WRONG, TaggedImage, tag_sheet


def test_frames_say_what_is_right() -> None:
    def grey() -> Image.Image:
        return Image.new("RGB", (100, 100), (90, 90, 90))

    sheets = [
        tag_sheet([TaggedImage(grey, labels, predicted)], "")
        for labels, predicted in ((["dog", "cat"], ["cat", "dog"]), (["dog"], ["cat"]), (["dog"], []))
    ]
    colours = [{colour for _, colour in sheet.getcolors(1 << 20)} for sheet in sheets]
    assert [RIGHT in found for found in colours] == [True, False, False]
    assert [WRONG in found for found in colours] == [False, True, True]
    assert sheets[1].height > sheets[0].height  # what it should have been is said, too
