"""The Parquet reader on files that pyarrow 26 wrote, and Snappy on streams made by hand from its description."""

import base64
import contextlib
from pathlib import Path

import pytest

from seetell.errors import SeetellError
from seetell.text.parquet import snappy, string_column

WORDS = ["the", ",", "naïve", "日本", "the", "a", *(f"word{number % 40}" for number in range(100))]

# pyarrow.parquet.write_table of a column "index", in base 85
SNAPPY_DICTIONARY = (
    "P(e~L6$BO51{J6SOch!c01^NIs{>R60001VXk`Ha001lo0001PVZ*O>WdRBl=9i`BoU8#EBw+;r004Jya%3<O2>>w>2>>z?2>>$@2>>(^2>>+_"
    "2>><`2>>?{2>>_|2>>|(X#rXUF)$Sh05KH`05TN{05cT|05lZ}05uf~05%m005=s105}y26=VQ16=VQ16=VQ16=VQ16=VQ16=VQ16=VQ16=VQ1"
    "6=VQ16=VQ16=VQ26=VQ26=VQ26=VQ26=VQ26=VQ26=Vc6HW9P{GZkbkGdKnS004Jya%3|(6#x~w0Tpm871RM05ETX$1{?qY09~*H0002g0RaXb"
    "Kp+eNQ5Xl3C=1g#4-`ogRaqC7X&cvh9~g=wS(+!Bsw-"
    "O<svZCk1^@s602KroEHwZa26JO*Wo=;<0ss{ZB?1@)X>Md?cqIT#8~^|S7SsV592p!Y02~zz88rX~5E&Q+X>Md?cohN`)BzUS2o~Z5CeQ;W2q`"
    "QT1Qh@k0ss{N6%Z8y06Z3)2^j_%CIHj{0000M+6WfZ0VW6*;sgLFAaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<AZ*CwmHZCwOF&P{j0001<0000`K~g"
    "a"
)
PLAIN = (
    "P(e~L6#x}v6=W<G3>5$s1{DSz000020000C0RsR40CZ?&0RR91ECv7o0B&K!uXbey0002ym!;;MtOEc50CZ?&0RR91VHE@!EHwZa26JO*Wo=;<"
    "0ss{ZB?1@)X>Md?cqIT#8~^|S77Q6285|}692E>1B?bT)7zJr=WMz0202T}uiUAgi0VW7Z92Ec+02KlNJQgS!1{o#*3;+NC7K#BD3?>K`iU9y9"
    "AaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<AZ*CwmHZCwOF&P{j0001v0000`K~ga"
)
GZIP = (
    "P(e~L6$BLu6*5c}0u=xf001A02mk;800065V`N}pNCW_5kN3d^0000L02LAyIxH0e6%Z8$6$Tst001A02mk;800065V`5-"
    "nU}9usVgLY`0CzbF0000L1Q{$f02l^yV`yb<VHE-Z6$~W;7zJr=WMz0I08AVJ000&O85|iLCIB223>h^51`rt-1!-"
    "<%Wq1_?76KMt7Onv%Rwf83EENP502KlN6#x|w6#@V}76KUt872S%0000MUKRo-2o|mZ04N}EVRCVGWppiLaBwYQa&m8XAa-"
    "SPb7^mGATl;CFfK6}92@`u0G0p%08l|vF#"
)
NULL = (
    "P(e~L6$BLu6$(rh0u=xf00031003bX02LAy5-b%26%Z8$6$Tst00062000940RjLO1Q{$f02l^yV`yb<VHE-"
    "Z6$~W;7zJr=WMz0I08AVJ000&Q85|iLCIB223>h^51`rt-1!-"
    "<%Wq1_;76cYv7G5SUCI~4k6$BLk6#@Vi02L4w0suS~0vQGwCISKg000(V76c{;7G3}-"
    "AaG%Fadl;MEn{$SEn#wUZ+9SeWpZ<AZ*CwmHZCwOF&P{j0001#0000`K~ga"
)
NUMBERS = (
    "P(e~L6$BL^6(CF%1Qh@h00031000000006200000000#L6%rK^EENP55ETX$1{?qY00IC200aR60|FHU87wsb7zT4=Xk~3-6#@Vi1SJ9(1!-"
    "<%Wq1G<1Q{F|93}u96$BYI00s~l7zJr=WMz0202TxmbQW|bL?#F+EENP502KlN6#x|w6#@V}DFzuP00aO402Xu>1SSX;bO0zIaA9(Bb!BudV{m"
    "XSVRCYBcOZ6Ua&u{KZXhx?E-)@J85|q{004{t002-yQZW"
)
NESTED = (
    "P(e~L6$BLu6$(rh0u=xf00031003bX02Lk;9xN3C6%Z8$6$Tst00062000620ssI20s{d802KroOf>))26JO*Wo=;<0su7v7zJr=WMz020u=^K"
    "JOBUyH3S$0Y-w|J6#@Vi3?%{>2W4z!ZDnqBB>+qu0000M0vQ|`93}u96$}|Q00s~lI0b2LWMy~+Y-"
    "w|J2W4z!ZDnqB6#y0j7HSr1CN3rjDJ&HP6#x|i02Kfg5ETLdJQe~OCISE%MgRZ+0ssI27HSp(CI}X404N}EVRCVGWppiLaBwYQa&m8XAa-"
    "SPb7^mGATl;CFfK6}92@`u0K@<Q08l|vF#"
)
V2 = (
    "P(e~L6$BLu6$(rh0u=xf00031003bX1{Dew3S1Qe6#x|i6%Z8!6#x<(000020RaL46$BY9H2@d}b7N>_ZDADx02K@+0vH8pZe(S6B>+qu0000M"
    "0vQ|`93}u96$}|Q00s~l7zJr=WMz0202TrkU>0B|E+z;mEENP502KlN6#x|w6#@V}76KUt872S%0000MU={)<2o_)fC?IfQa&dKKbS-"
    "0Wa4lhSa&LDac4cyNX>V>IGBz$SE-@J#8~^|SlmGw#P(e~L"
)


def written(folder: Path, content: str) -> Path:
    path = folder / "words.parquet"
    path.write_bytes(base64.b85decode(content))
    return path


def test_a_dictionary_compressed_with_snappy(tmp_path: Path) -> None:
    assert string_column(written(tmp_path, SNAPPY_DICTIONARY), "index") == WORDS


def test_plain_strings_not_compressed(tmp_path: Path) -> None:
    assert string_column(written(tmp_path, PLAIN), "index") == WORDS[:6]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (GZIP, "compression 2"),
        (NULL, "nulls"),
        (NUMBERS, "does not hold strings"),
        (NESTED, "nested"),
        (V2, "pages of kind 3"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(tmp_path: Path, content: str, reason: str) -> None:
    with pytest.raises(SeetellError, match=reason):
        string_column(written(tmp_path, content), "index")


def test_a_column_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SeetellError, match="no column 'words'"):
        string_column(written(tmp_path, PLAIN), "words")


def test_a_damaged_file_is_refused_or_read_but_never_crashes(tmp_path: Path) -> None:
    path = written(tmp_path, SNAPPY_DICTIONARY)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(SeetellError):
            string_column(path, "index")
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        with contextlib.suppress(SeetellError):
            assert len(string_column(path, "index")) <= len(WORDS)


@pytest.mark.parametrize(
    ("compressed", "expected"),
    [
        (b"\x00", b""),
        (b"\x03\x08abc", b"abc"),  # a literal
        (b"\x07\x08abc\x01\x03", b"abcabca"),  # four from three back, overlapping
        (b"\x05\x00a\x0e\x01\x00", b"aaaaa"),  # four from one back, two bytes of offset
        (b"\x05\x00a\x0f\x01\x00\x00\x00", b"aaaaa"),  # the same, four bytes of offset
        (b"\x46\xf0\x45" + b"x" * 70, b"x" * 70),  # a length of its own byte
        (b"\xac\x02\xf4\x2b\x01" + b"y" * 300, b"y" * 300),  # of two bytes
    ],
)
def test_snappy(compressed: bytes, expected: bytes) -> None:
    assert snappy(compressed) == expected


@pytest.mark.parametrize("compressed", [b"\x04\x08abc", b"\x05\x00a\x01\x02", b"\x05\x00a\x01\x00", b"\x02\x08abc"])
def test_snappy_notices_damage(compressed: bytes) -> None:
    with pytest.raises(ValueError, match=r"length|copy"):
        snappy(compressed)
