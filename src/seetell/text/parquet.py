"""Just enough Parquet to read the words of a pip-installed package of word vectors without a Parquet library.

Reads a column of strings: Thrift's compact protocol for the metadata, pages of version 1, plain or dictionary-encoded,
plain or Snappy-compressed. Whatever else a file may use is refused by name.

References: the Parquet format (https://parquet.apache.org/docs/file-format/), its encodings, Thrift's compact protocol,
and Snappy's format description.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seetell.errors import SeetellError

_MAGIC = b"PAR1"
_BYTE_ARRAY, _OPTIONAL = 6, 1
_UNCOMPRESSED, _SNAPPY = 0, 1
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_PLAIN, _PLAIN_DICTIONARY, _RLE_DICTIONARY = 0, 2, 8


class _Unsupported(Exception):
    pass


def string_column(path: str | os.PathLike[str], name: str) -> list[str]:
    """All values of the column of strings called `name`, none of which may be null."""
    data = Path(path).read_bytes()
    try:
        return [value.decode("utf-8") for value in _column(data, name)]
    except _Unsupported as error:
        raise SeetellError(f"this Parquet file cannot be read here: {error}", where=str(path)) from None
    except (IndexError, KeyError, ValueError, TypeError):
        raise SeetellError(
            "this Parquet file is damaged", where=str(path), remedy="Install the package it belongs to again."
        ) from None


def _column(data: bytes, name: str) -> Iterator[bytes]:
    if data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ValueError("no magic number")
    footer = _Thrift(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little")).struct()
    schema = {element[4]: element for element in footer[2][1:]}
    if len(schema) != len(footer[2]) - 1 or any(5 in element for element in schema.values()):
        raise _Unsupported("its columns are nested")
    if name.encode() not in schema:
        raise _Unsupported(f"it has no column {name!r}")
    optional = schema[name.encode()].get(3) == _OPTIONAL
    for group in footer[4]:
        for chunk in group[1]:
            column = chunk[3]
            if column[3] == [name.encode()]:
                yield from _values(data, column, optional)


def _values(data: bytes, column: dict[int, Any], optional: bool) -> Iterator[bytes]:
    """The values of one column chunk: its dictionary page, if any, and then data pages until all are there."""
    if column[1] != _BYTE_ARRAY:
        raise _Unsupported("the column does not hold strings")
    dictionary: list[bytes] = []
    place, left = column.get(11, column[9]), column[5]
    while left > 0:
        thrift = _Thrift(data, place)
        header = thrift.struct()
        if header[3] < 0:
            raise ValueError("a page of negative size")
        place = thrift.place + header[3]
        page = _decompress(data[thrift.place : place], column[4])
        if header[1] == _DICTIONARY_PAGE:
            dictionary = _plain(page, header[7][1])
        elif header[1] == _DATA_PAGE:
            count, encoding = header[5][1], header[5][2]
            if not 0 < count <= left:
                raise ValueError("a page with more values than the column")
            if optional:
                length = int.from_bytes(page[:4], "little")
                if not all(_hybrid(page[4 : 4 + length], 1, count)):
                    raise _Unsupported("the column has nulls")
                page = page[4 + length :]
            if encoding == _PLAIN:
                yield from _plain(page, count)
            elif encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
                yield from (dictionary[index] for index in _hybrid(page[1:], page[0], count))
            else:
                raise _Unsupported(f"encoding {encoding}")
            left -= count
        else:
            raise _Unsupported(f"pages of kind {header[1]}")


def _plain(page: bytes, count: int) -> list[bytes]:
    values, place = [], 0
    for _ in range(count):
        start = place + 4
        place = start + int.from_bytes(page[place:start], "little")
        if place > len(page):
            raise ValueError("a page ends early")
        values.append(page[start:place])
    return values


def _hybrid(data: bytes, width: int, count: int) -> list[int]:
    """Integers of `width` bits, as runs of one value and groups of eight packed ones."""
    values: list[int] = []
    place, whole = 0, (width + 7) // 8
    while len(values) < count:
        header, place = _varint(data, place)
        if header & 1:
            length = (header >> 1) * width
            bits = np.unpackbits(np.frombuffer(data[place : place + length], dtype=np.uint8), bitorder="little")
            values += (bits.reshape(-1, width) @ (1 << np.arange(width))).tolist() if width else [0] * count
        else:
            length = whole
            values += [int.from_bytes(data[place : place + length], "little")] * min(header >> 1, count)
        place += length
    return values[:count]


def _decompress(page: bytes, codec: int) -> bytes:
    if codec == _UNCOMPRESSED:
        return page
    if codec != _SNAPPY:
        raise _Unsupported(f"compression {codec}")
    return snappy(page)


def snappy(data: bytes) -> bytes:
    """Undo Snappy's compression."""
    length, place = _varint(data, 0)
    result = bytearray()
    end = len(data)
    while place < end:
        tag = data[place]
        kind = tag & 3
        place += 1
        if kind == 0:  # as it stands
            size = tag >> 2
            if size >= 60:
                extra = size - 59
                size = int.from_bytes(data[place : place + extra], "little")
                place += extra
            size += 1
            result += data[place : place + size]
            place += size
            continue
        if kind == 1:  # a copy of what came before
            size, back = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[place]
            place += 1
        else:
            width = 2 if kind == 2 else 4
            size, back = (tag >> 2) + 1, int.from_bytes(data[place : place + width], "little")
            place += width
        start = len(result) - back
        if back == 0 or start < 0:
            raise ValueError("a copy from outside")
        copied = result[start : start + size]
        while len(copied) < size:  # it overlaps with itself
            copied += copied[: size - len(copied)]
        result += copied
    if len(result) != length:
        raise ValueError("the length is not what was promised")
    return bytes(result)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7


class _Thrift:
    """Reads Thrift's compact protocol: structs become dictionaries from field numbers."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            fields[number] = self._value(header & 15)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):  # a boolean in a struct is its kind
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            self.place += 8  # no field that is read here is a double
            return None
        if kind == 8:
            return self._binary()
        if kind in (9, 10):
            return self._list()
        if kind == 12:
            return self.struct()
        raise _Unsupported(f"metadata of kind {kind}")

    def _byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def _integer(self) -> int:
        value, self.place = _varint(self.data, self.place)
        return value >> 1 ^ -(value & 1)

    def _binary(self) -> bytes:
        length, start = _varint(self.data, self.place)
        self.place = start + length
        return self.data[start : self.place]

    def _list(self) -> list[Any]:
        header = self._byte()
        size, kind = header >> 4, header & 15
        if size == 15:
            size, self.place = _varint(self.data, self.place)
        if kind in (1, 2):
            return [self._byte() == 1 for _ in range(size)]
        return [self._value(kind) for _ in range(size)]
