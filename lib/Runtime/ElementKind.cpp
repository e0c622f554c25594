//===- ElementKind.cpp - element types of the runtime -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/ElementKind.h"

#include "Vectorized.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

std::optional<ElementKind> runtime::getElementKind(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return ElementKind::Bool;
    case 8:
      return isUnsigned ? ElementKind::U8 : ElementKind::I8;
    case 16:
      return isUnsigned ? ElementKind::U16 : ElementKind::I16;
    case 32:
      return isUnsigned ? ElementKind::U32 : ElementKind::I32;
    case 64:
      return isUnsigned ? ElementKind::U64 : ElementKind::I64;
    default:
      return std::nullopt;
    }
  }
  using Result = std::optional<ElementKind>;
  return llvm::TypeSwitch<Type, Result>(type)
      .Case<Float16Type>([](auto) { return ElementKind::F16; })
      .Case<BFloat16Type>([](auto) { return ElementKind::BF16; })
      .Case<Float32Type>([](auto) { return ElementKind::F32; })
      .Case<Float64Type>([](auto) { return ElementKind::F64; })
      .Case<Float8E4M3FNType>([](auto) { return ElementKind::F8E4M3FN; })
      .Case<Float8E5M2Type>([](auto) { return ElementKind::F8E5M2; })
      .Case<Float8E4M3FNUZType>([](auto) { return ElementKind::F8E4M3FNUZ; })
      .Case<Float8E5M2FNUZType>([](auto) { return ElementKind::F8E5M2FNUZ; })
      .Case<Float8E8M0FNUType>([](auto) { return ElementKind::F8E8M0FNU; })
      .Default([](auto) { return std::nullopt; });
}

unsigned runtime::getNumBytes(ElementKind kind) {
  switch (kind) {
  case ElementKind::I16:
  case ElementKind::U16:
  case ElementKind::F16:
  case ElementKind::BF16:
    return 2;
  case ElementKind::I32:
  case ElementKind::U32:
  case ElementKind::F32:
    return 4;
  case ElementKind::I64:
  case ElementKind::U64:
  case ElementKind::F64:
    return 8;
  default:
    return 1;
  }
}

bool runtime::isFloat(ElementKind kind) { return kind >= ElementKind::F16; }

ComputeKind runtime::getComputeKind(ElementKind kind) {
  if (!isFloat(kind))
    return kind == ElementKind::U64 ? ComputeKind::Unsigned
                                    : ComputeKind::Integer;
  return kind == ElementKind::F64 ? ComputeKind::Double : ComputeKind::Single;
}

//===----------------------------------------------------------------------===//
// Narrow floats
//===----------------------------------------------------------------------===//

COMMUTE_INLINED static inline float fromBfloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

COMMUTE_INLINED static inline uint16_t toBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

COMMUTE_INLINED static inline float fromFloat16(uint16_t bits) {
  // Move the exponent to its position in f32 and rescale by a product, which
  // also normalizes subnormal numbers.
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | sign);
}

COMMUTE_INLINED static inline uint16_t toFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  // Numbers from here on round to infinity.
  if (magnitude >= 0x477ff000)
    return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Subnormal: adding this number makes the hardware round at the last bit.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) -
                                        std::bit_cast<uint32_t>(0.5f));
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return sign | static_cast<uint16_t>((rounded - 0x38000000) >> 13);
}

static const llvm::fltSemantics &getSemantics(ElementKind kind) {
  switch (kind) {
  case ElementKind::F8E4M3FN:
    return llvm::APFloat::Float8E4M3FN();
  case ElementKind::F8E5M2:
    return llvm::APFloat::Float8E5M2();
  case ElementKind::F8E4M3FNUZ:
    return llvm::APFloat::Float8E4M3FNUZ();
  case ElementKind::F8E5M2FNUZ:
    return llvm::APFloat::Float8E5M2FNUZ();
  default:
    return llvm::APFloat::Float8E8M0FNU();
  }
}

/// Returns all 256 values of an 8-bit float.
static const std::array<float, 256> &getFloat8Table(ElementKind kind) {
  auto makeTable = [](ElementKind kind) {
    std::array<float, 256> table;
    for (unsigned bits = 0; bits < 256; ++bits) {
      llvm::APFloat value(getSemantics(kind), llvm::APInt(8, bits));
      table[bits] = value.isNaN() ? std::numeric_limits<float>::quiet_NaN()
                                  : value.convertToFloat();
    }
    return table;
  };
  static const std::array<float, 256> tables[] = {
      makeTable(ElementKind::F8E4M3FN), makeTable(ElementKind::F8E5M2),
      makeTable(ElementKind::F8E4M3FNUZ), makeTable(ElementKind::F8E5M2FNUZ),
      makeTable(ElementKind::F8E8M0FNU)};
  return tables[unsigned(kind) - unsigned(ElementKind::F8E4M3FN)];
}

static uint8_t toFloat8(float value, ElementKind kind) {
  llvm::APFloat number(value);
  bool losesInfo = false;
  // This type has neither a sign nor a zero.
  if (kind == ElementKind::F8E8M0FNU && !(value > 0))
    return value == 0 ? 0 : 0xff;
  number.convert(getSemantics(kind), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return static_cast<uint8_t>(number.bitcastToAPInt().getZExtValue());
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

/// Converts numbers with the results of x86 instructions, defined for all
/// inputs. Numbers that do not fit become the smallest int64_t; uint64_t has
/// twice the range, and negative numbers wrap.
template <typename To, typename From>
COMMUTE_INLINED static inline To convert(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    static_assert(sizeof(To) == sizeof(int64_t));
    if constexpr (std::is_unsigned_v<To>) {
      constexpr From half = From(0x1p63);
      if (value >= half)
        return static_cast<To>(convert<int64_t>(value - half)) ^ To(1) << 63;
      return static_cast<To>(convert<int64_t>(value));
    }
    if (!(value >= From(-0x1p63) && value < From(0x1p63)))
      return std::numeric_limits<To>::min();
  }
  return static_cast<To>(value);
}

template <typename Element, typename Compute>
COMMUTE_INLINED static inline void loadPlain(const void *source, size_t count,
                                             Compute *target) {
  if constexpr (std::is_same_v<Element, Compute>) {
    if (count > 0)
      std::memcpy(target, source, count * sizeof(Element));
    return;
  }
  const auto *elements = static_cast<const Element *>(source);
  for (size_t index = 0; index < count; ++index)
    target[index] = convert<Compute>(elements[index]);
}

template <typename Element, typename Compute>
COMMUTE_INLINED static inline void storePlain(const Compute *source,
                                              size_t count, void *target) {
  if constexpr (std::is_same_v<Element, Compute>) {
    if (count > 0)
      std::memcpy(target, source, count * sizeof(Element));
    return;
  }
  auto *elements = static_cast<Element *>(target);
  for (size_t index = 0; index < count; ++index) {
    if constexpr (std::is_same_v<Element, uint64_t>)
      elements[index] = convert<uint64_t>(source[index]);
    else if constexpr (std::is_integral_v<Element>)
      elements[index] = static_cast<Element>(convert<int64_t>(source[index]));
    else
      elements[index] = static_cast<Element>(source[index]);
  }
}

template <typename Compute>
COMMUTE_INLINED static inline void loadAny(ElementKind kind, const void *source,
                                           size_t count, Compute *target) {
  auto loadBits = [&](auto bits, auto decode) COMMUTE_INLINED {
    const auto *elements = static_cast<const decltype(bits) *>(source);
    for (size_t index = 0; index < count; ++index)
      target[index] = convert<Compute>(decode(elements[index]));
  };
  switch (kind) {
  case ElementKind::Bool:
  case ElementKind::U8:
    return loadPlain<uint8_t>(source, count, target);
  case ElementKind::I8:
    return loadPlain<int8_t>(source, count, target);
  case ElementKind::I16:
    return loadPlain<int16_t>(source, count, target);
  case ElementKind::I32:
    return loadPlain<int32_t>(source, count, target);
  case ElementKind::I64:
    return loadPlain<int64_t>(source, count, target);
  case ElementKind::U16:
    return loadPlain<uint16_t>(source, count, target);
  case ElementKind::U32:
    return loadPlain<uint32_t>(source, count, target);
  case ElementKind::U64:
    return loadPlain<uint64_t>(source, count, target);
  case ElementKind::F32:
    return loadPlain<float>(source, count, target);
  case ElementKind::F64:
    return loadPlain<double>(source, count, target);
  case ElementKind::F16:
    return loadBits(uint16_t(), fromFloat16);
  case ElementKind::BF16:
    return loadBits(uint16_t(), fromBfloat16);
  default: {
    const std::array<float, 256> &table = getFloat8Table(kind);
    return loadBits(uint8_t(), [&](uint8_t bits) { return table[bits]; });
  }
  }
}

template <typename Compute>
COMMUTE_INLINED static inline void
storeAny(ElementKind kind, const Compute *source, size_t count, void *target) {
  auto storeBits = [&](auto bits, auto encode) COMMUTE_INLINED {
    auto *elements = static_cast<decltype(bits) *>(target);
    for (size_t index = 0; index < count; ++index)
      elements[index] = encode(static_cast<float>(source[index]));
  };
  switch (kind) {
  case ElementKind::Bool:
    for (size_t index = 0; index < count; ++index)
      static_cast<uint8_t *>(target)[index] = source[index] != 0;
    return;
  case ElementKind::U8:
    return storePlain<uint8_t>(source, count, target);
  case ElementKind::I8:
    return storePlain<int8_t>(source, count, target);
  case ElementKind::I16:
    return storePlain<int16_t>(source, count, target);
  case ElementKind::I32:
    return storePlain<int32_t>(source, count, target);
  case ElementKind::I64:
    return storePlain<int64_t>(source, count, target);
  case ElementKind::U16:
    return storePlain<uint16_t>(source, count, target);
  case ElementKind::U32:
    return storePlain<uint32_t>(source, count, target);
  case ElementKind::U64:
    return storePlain<uint64_t>(source, count, target);
  case ElementKind::F32:
    return storePlain<float>(source, count, target);
  case ElementKind::F64:
    return storePlain<double>(source, count, target);
  case ElementKind::F16:
    return storeBits(uint16_t(), toFloat16);
  case ElementKind::BF16:
    return storeBits(uint16_t(), toBfloat16);
  default:
    return storeBits(uint8_t(),
                     [&](float value) { return toFloat8(value, kind); });
  }
}

template <typename Compute>
void runtime::loadElements(ElementKind kind, const void *source, size_t count,
                           Compute *target) {
  vectorized([=]() COMMUTE_INLINED { loadAny(kind, source, count, target); });
}

template <typename Compute>
void runtime::storeElements(ElementKind kind, const Compute *source,
                            size_t count, void *target) {
  vectorized([=]() COMMUTE_INLINED { storeAny(kind, source, count, target); });
}

namespace commute::runtime {
template void loadElements(ElementKind, const void *, size_t, int64_t *);
template void loadElements(ElementKind, const void *, size_t, uint64_t *);
template void loadElements(ElementKind, const void *, size_t, float *);
template void loadElements(ElementKind, const void *, size_t, double *);
template void storeElements(ElementKind, const int64_t *, size_t, void *);
template void storeElements(ElementKind, const uint64_t *, size_t, void *);
template void storeElements(ElementKind, const float *, size_t, void *);
template void storeElements(ElementKind, const double *, size_t, void *);
} // namespace commute::runtime
