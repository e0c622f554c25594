//===- AtenCounting.cpp - ATen's histograms and buckets ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "NodeReader.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;
using tp::ReductionKind;

/// Returns the integers that a value's elements are, or null if they need not
/// be whole numbers.
static Value getIntegers(Value value) {
  auto isOfIntegers = [](Value value) {
    return isa<IntegerType>(getElementType(value));
  };
  if (isOfIntegers(value))
    return value;
  auto cast = value.getDefiningOp<tp::CastOp>();
  return cast && isOfIntegers(cast.getInput()) ? cast.getInput() : Value();
}

/// histc(x, bins, min, max): the number of elements in each bin.
static LogicalResult readHistogram(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<int64_t> bins = reader.integer("bins", 100);
  std::optional<double> low = reader.number("min", 0);
  std::optional<double> high = reader.number("max", 0);
  if (!self || !type || !bins || !low || !high || *bins < 1)
    return failure();
  tp::Size count = tp::multiply(reader.getSymbols().getSizes(getTensor(self)));
  if (!count)
    return failure();
  // Equal bounds stand for the extremes of the elements, so that a single bin
  // holds all of them.
  if (std::optional<int64_t> number = tp::getConstant(count);
      number && *bins == 1 && *low == *high) {
    Formula f(reader, type.getElementType());
    return f.result(0, reader.reshape(f.number(static_cast<double>(*number)),
                                      reader.getSymbols().getSizes(type)));
  }
  if (!(*low < *high))
    return failure();
  Type integer = reader.getBuilder().getI64Type();
  auto countEach = [&](Formula &f, Value bin, Value positions) {
    Value isInside = f.test(MapFunction::Equal, {bin, positions});
    return f.result(0, f.reduce(ReductionKind::Sum, f.of(isInside), 0,
                                /*keepDims=*/false));
  };
  // Whole numbers with as many bins as there are from the lower to the upper
  // bound, as experts are counted: each number has its own bin.
  constexpr double largest = 1 << 20;
  if (Value integers = getIntegers(self);
      integers && std::abs(*low) <= largest && std::abs(*high) <= largest &&
      std::floor(*low) == *low && *high - *low + 1 == *bins) {
    Formula f(reader, integer);
    return countEach(f, reader.reshape(integers, {count, 1}),
                     reader.iota(*bins, static_cast<int64_t>(*low)));
  }
  Formula f(reader, isa<FloatType>(getElementType(self))
                        ? getElementType(self)
                        : Type(reader.getBuilder().getF32Type()));
  Value x = f.of(reader.reshape(self, {count, 1}));
  Value place = f.divide(f.multiply(f.subtract(x, f.number(*low)),
                                    f.number(static_cast<double>(*bins))),
                         f.number(*high - *low));
  tp::Sizes column = reader.getSymbols().getSizes(getTensor(place));
  Value bin = reader.create<tp::CastOp>(reader.getDenseType(integer, column),
                                        f.apply(MapFunction::Floor, place),
                                        /*contiguous=*/true);
  // The upper bound belongs to the last bin.
  Value isHighest = f.test(MapFunction::Equal, {x, f.number(*high)});
  bin = reader.map(MapFunction::Select,
                   {isHighest, reader.constant(*bins - 1), bin}, integer);
  return countEach(f, bin, reader.iota(*bins));
}

/// bucketize and searchsorted: the number of boundaries below each element, or
/// not above it with `right`. NaN is above all boundaries.
static LogicalResult setBuckets(NodeReader &reader, Value boundaries,
                                bool isRight) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  // It is the element type of the result.
  reader.skip("out_int32");
  if (!self || !boundaries || !type ||
      getElementType(self) != getElementType(boundaries))
    return failure();
  tp::SymbolSpace &symbols = reader.getSymbols();
  int64_t rank = getTensor(self).getRank();
  tp::Sizes sizes = symbols.getSizes(getTensor(self));
  tp::Sizes rows = symbols.getSizes(getTensor(boundaries));
  if (rows.size() != 1) {
    // Each row of elements has its own boundaries.
    if (static_cast<int64_t>(rows.size()) != rank || rows.empty())
      return failure();
    rows.insert(rows.end() - 1, 1);
    boundaries = reader.reshape(boundaries, rows);
  }
  sizes.push_back(1);
  Formula f(reader, type.getElementType());
  Value isAbove =
      f.test(isRight ? MapFunction::Greater : MapFunction::GreaterEqual,
             {boundaries, reader.reshape(self, sizes)});
  Value isBelow = f.test(MapFunction::LogicalNot, isAbove);
  return f.result(0, f.reduce(ReductionKind::Sum, f.of(isBelow), rank,
                              /*keepDims=*/false));
}

static LogicalResult readBucketize(NodeReader &reader) {
  std::optional<bool> isRight = reader.boolean("right", false);
  return isRight ? setBuckets(reader, reader.tensor("boundaries"), *isRight)
                 : failure();
}

static LogicalResult readSearchSorted(NodeReader &reader) {
  std::optional<bool> isRight = reader.boolean("right", false);
  std::optional<StringRef> side =
      reader.string("side", StringRef(isRight == true ? "right" : "left"));
  if (!isRight || !side || !reader.isAbsent("sorter"))
    return failure();
  return setBuckets(reader, reader.tensor("sorted_sequence"), *side == "right");
}

void vocabulary::addAtenCounting(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.histc.default", readHistogram);
  vocabulary.add("torch.ops.aten.bucketize.Tensor", readBucketize);
  vocabulary.add("torch.ops.aten.searchsorted.Tensor", readSearchSorted);
}
