"""Quantised blocks of random bytes with finite scales, and what they stand for, unpacked by what the format says.

The way in which each type packs its numbers is ggml's; what is written here reads one block at a time and shares
nothing with the gguf package, which unpacks only the types whose numbers stand in long tables.
"""

from collections.abc import Callable

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import _type_traits, dequantize
from numpy.typing import NDArray

Type = GGMLQuantizationType
Bytes = NDArray[np.uint8]
Numbers = NDArray[np.float64]

HALVES = {
    Type.Q4_0: (0,),
    Type.Q4_1: (0, 2),
    Type.Q5_0: (0,),
    Type.Q5_1: (0, 2),
    Type.Q8_0: (0,),
    Type.Q2_K: (80, 82),
    Type.Q3_K: (108,),
    Type.Q4_K: (0, 2),
    Type.Q5_K: (0, 2),
    Type.Q6_K: (208,),
    Type.TQ1_0: (52,),
    Type.TQ2_0: (64,),
    Type.IQ2_XXS: (0,),
    Type.IQ2_XS: (0,),
    Type.IQ2_S: (0,),
    Type.IQ3_XXS: (0,),
    Type.IQ3_S: (0,),
    Type.IQ1_S: (0,),
    Type.IQ4_NL: (0,),
    Type.IQ4_XS: (0,),
}
"""Where in a block its scales in half precision stand."""

LEVELS = {
    Type.Q4_1: 0.013,
    Type.Q5_1: 0.007,
    Type.Q8_0: 7e-4,
    Type.Q2_K: 0.004,
    Type.Q3_K: 0.001,
    Type.Q4_K: 2e-4,
    Type.Q5_K: 1e-4,
    Type.Q6_K: 3e-5,
    Type.TQ1_0: 0.06,
    Type.TQ2_0: 0.04,
    Type.IQ2_XXS: 0.001,
    Type.IQ2_XS: 8e-4,
    Type.IQ2_S: 9e-4,
    Type.IQ3_XXS: 4e-4,
    Type.IQ3_S: 3e-4,
    Type.IQ4_NL: 8e-4,
    Type.IQ4_XS: 4e-5,
}
"""Scales that make numbers of about 0.06; 0.006 for a type that is not named."""

OFFSETS = {Type.Q4_1: -7.5, Type.Q5_1: -15.5, Type.Q2_K: 1.5, Type.Q4_K: 7.5, Type.Q5_K: 15.5}
"""What a second scale is of the first, for numbers around nothing: else every row of a network would be the same."""

BYTES = {Type.MXFP4: (0,), Type.NVFP4: (0, 1, 2, 3)}
"""Where scales of one byte stand."""

_NONLINEAR: Numbers = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64)


def random_blocks(type_: GGMLQuantizationType, rows: int, columns: int, rng: np.random.Generator) -> Bytes:
    """Packed rows ``[rows, bytes]`` of any numbers that the type can hold."""
    numbers, size = GGML_QUANT_SIZES[type_]
    blocks = rng.integers(0, 256, (rows * columns // numbers, size), np.uint8)
    count = len(blocks)
    if type_ in (Type.F16, Type.BF16, Type.F32):
        return packed(rng.normal(0, columns**-0.5, (rows, columns)).astype(np.float32), type_)
    scales = _scales(type_, count, rng)
    for at, times in zip(HALVES.get(type_, ()), (1.0, OFFSETS.get(type_, 1.0)), strict=False):
        blocks[:, at : at + 2] = (scales * np.float16(times)).view(np.uint8).reshape(count, 2)
    if type_ is Type.TQ2_0:
        blocks[:, :64] &= ~((blocks[:, :64] & 0x55) << 1)  # two bits are 0, 1 or 2
    for at in BYTES.get(type_, ()):
        blocks[:, at] = rng.integers(118, 122, count) if type_ is Type.MXFP4 else rng.integers(0x02, 0x18, count)
    if type_ is Type.IQ1_M:
        # Its one scale in half precision is dealt out to the highest four bits of four numbers.
        scale = scales.view(np.uint16)
        for i in range(4):
            nibble = (scale >> (4 * i) & 15).astype(np.uint8)
            blocks[:, 49 + 2 * i] = blocks[:, 49 + 2 * i] & 15 | nibble << 4
    return blocks.reshape(rows, -1)


def packed(array: NDArray[np.float32], type_: GGMLQuantizationType) -> Bytes:
    """Rows of plain numbers in a plain type."""
    match type_:
        case Type.F32:
            return array.view(np.uint8)
        case Type.F16:
            return array.astype(np.float16).view(np.uint8)
        case _:
            return np.ascontiguousarray((array.view(np.uint32) >> 16).astype(np.uint16)).view(np.uint8)


def unpacked(type_: GGMLQuantizationType, rows: Bytes) -> Numbers:
    """What packed rows stand for; for types with tables by the gguf package, nothing for those it cannot read."""
    if type_ not in READ and type_ not in (Type.F32, Type.F16, Type.BF16):
        return np.asarray(dequantize(rows, type_), np.float64) if type_ in _type_traits else np.zeros(1)
    match type_:
        case Type.F32:
            return rows.view(np.float32).astype(np.float64)
        case Type.F16:
            return rows.view(np.float16).astype(np.float64)
        case Type.BF16:
            return (rows.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    size = GGML_QUANT_SIZES[type_][1]
    read = READ[type_]
    return np.stack([np.concatenate([read(block) for block in row.reshape(-1, size)]) for row in rows])


def _scales(type_: GGMLQuantizationType, count: int, rng: np.random.Generator) -> NDArray[np.float16]:
    return (LEVELS.get(type_, 0.006) * rng.uniform(0.5, 1.5, count)).astype(np.float16)


def _half(block: Bytes, at: int) -> float:
    return float(block[at : at + 2].view(np.float16)[0])


def _nibbles(data: Bytes) -> Numbers:
    """The low halves of all bytes, and then the high ones."""
    return np.concatenate([data & 15, data >> 4]).astype(np.float64)


def _bits(data: Bytes) -> Numbers:
    return np.unpackbits(data, bitorder="little").astype(np.float64)


def _q4_0(block: Bytes) -> Numbers:
    return _half(block, 0) * (_nibbles(block[2:]) - 8)


def _q4_1(block: Bytes) -> Numbers:
    return _half(block, 0) * _nibbles(block[4:]) + _half(block, 2)


def _q5_0(block: Bytes) -> Numbers:
    return _half(block, 0) * (_nibbles(block[6:]) + 16 * _bits(block[2:6]) - 16)


def _q5_1(block: Bytes) -> Numbers:
    return _half(block, 0) * (_nibbles(block[8:]) + 16 * _bits(block[4:8])) + _half(block, 2)


def _q8_0(block: Bytes) -> Numbers:
    return _half(block, 0) * block[2:].view(np.int8).astype(np.float64)


def _q2_k(block: Bytes) -> Numbers:
    """Sixteen groups of sixteen: a byte each has the group's scale below and its minimum above."""
    scale, minimum = _half(block, 80), _half(block, 82)
    made = []
    for group in range(16):
        half, shift, part = group // 8, group % 8 // 2 * 2, group % 2
        data = block[16 + 32 * half + 16 * part :][:16] >> shift & 3
        made.append(scale * (block[group] & 15) * data.astype(np.float64) - minimum * (block[group] >> 4))
    return np.concatenate(made)


def _q3_k(block: Bytes) -> Numbers:
    """As Q2_K without minima; a third bit of each number in the mask, and six bits of each scale, in two places."""
    mask, data, packed_scales, scale = block[:32], block[32:96], block[96:108], _half(block, 108)
    made = []
    for group in range(16):
        half, pair, part = group // 8, group % 8 // 2, group % 2
        low = packed_scales[group % 8] >> (4 * (group // 8)) & 15
        high = packed_scales[8 + group % 4] >> (2 * (group // 4)) & 3
        factor = int(low) + 16 * int(high) - 32
        two = data[32 * half + 16 * part :][:16] >> (2 * pair) & 3
        third = mask[16 * part :][:16] >> (4 * half + pair) & 1
        made.append(scale * factor * (two.astype(np.float64) + 4.0 * third - 4))
    return np.concatenate(made)


def _scales_and_minima(data: Bytes) -> list[tuple[int, int]]:
    """Eight pairs of six bits in twelve bytes, as Q4_K and Q5_K have them."""
    low = [(int(data[i]) & 63, int(data[i + 4]) & 63) for i in range(4)]
    high = [
        (int(data[i + 8]) & 15 | int(data[i]) >> 6 << 4, int(data[i + 8]) >> 4 | int(data[i + 4]) >> 6 << 4)
        for i in range(4)
    ]
    return low + high


def _q4_k(block: Bytes) -> Numbers:
    scale, minimum = _half(block, 0), _half(block, 2)
    made = []
    for group, (factor, offset) in enumerate(_scales_and_minima(block[4:16])):
        data = block[16 + 32 * (group // 2) :][:32] >> (4 * (group % 2)) & 15
        made.append(scale * factor * data.astype(np.float64) - minimum * offset)
    return np.concatenate(made)


def _q5_k(block: Bytes) -> Numbers:
    scale, minimum = _half(block, 0), _half(block, 2)
    made = []
    for group, (factor, offset) in enumerate(_scales_and_minima(block[4:16])):
        data = block[48 + 32 * (group // 2) :][:32] >> (4 * (group % 2)) & 15
        fifth = block[16:48] >> group & 1
        made.append(scale * factor * (data + 16.0 * fifth) - minimum * offset)
    return np.concatenate(made)


def _q6_k(block: Bytes) -> Numbers:
    low, high, scales, scale = block[:128], block[128:192], block[192:208].view(np.int8), _half(block, 208)
    made = []
    for quarter in range(8):
        half, part = quarter // 4, quarter % 4
        four = low[64 * half + 32 * (part % 2) :][:32] >> (4 * (part // 2)) & 15
        two = high[32 * half :][:32] >> (2 * part) & 3
        numbers = four.astype(np.float64) + 16.0 * two - 32
        made.append(scale * np.repeat(scales[2 * quarter :][:2].astype(np.float64), 16) * numbers)
    return np.concatenate(made)


def _iq4_nl(block: Bytes) -> Numbers:
    return np.asarray(_half(block, 0) * _NONLINEAR[_nibbles(block[2:]).astype(int)])


def _iq4_xs(block: Bytes) -> Numbers:
    scale, high = _half(block, 0), int(block[2:4].view(np.uint16)[0])
    made = []
    for group in range(8):
        low = int(block[4 + group // 2]) >> (4 * (group % 2)) & 15
        factor = (low | (high >> (2 * group) & 3) << 4) - 32
        made.append(scale * factor * _NONLINEAR[_nibbles(block[8 + 16 * group :][:16]).astype(int)])
    return np.concatenate(made)


READ: dict[GGMLQuantizationType, Callable[[Bytes], Numbers]] = {
    Type.Q4_0: _q4_0,
    Type.Q4_1: _q4_1,
    Type.Q5_0: _q5_0,
    Type.Q5_1: _q5_1,
    Type.Q8_0: _q8_0,
    Type.Q2_K: _q2_k,
    Type.Q3_K: _q3_k,
    Type.Q4_K: _q4_k,
    Type.Q5_K: _q5_k,
    Type.Q6_K: _q6_k,
    Type.IQ4_NL: _iq4_nl,
    Type.IQ4_XS: _iq4_xs,
}
