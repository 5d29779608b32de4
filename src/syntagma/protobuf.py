"""Protobuf messages as their fields, read without the library and without their definitions.

>>> list(fields(b"\\x08\\x96\\x01\\x12\\x02hi"))
[(1, 150), (2, b'hi')]
"""

from __future__ import annotations

from collections.abc import Iterator

_FIXED_SIZES = {1: 8, 5: 4}


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The number and the value of each field: a number for a varint, bytes for all else.

    `ValueError` or `IndexError` where the data are no message.
    """
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        field, kind = key >> 3, key & 7
        if kind == 0:
            number, position = _varint(data, position)
            yield field, number
            continue
        size = _FIXED_SIZES.get(kind)
        if kind == 2:
            size, position = _varint(data, position)
        if size is None or position + size > len(data):
            raise ValueError("the message ends in the middle of a field, or is none")
        yield field, data[position : position + size]
        position += size


def packed_varints(data: bytes) -> list[int]:
    """The numbers of a packed field."""
    numbers, position = [], 0
    while position < len(data):
        number, position = _varint(data, position)
        numbers.append(number)
    return numbers


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at a position, and the position after it."""
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
