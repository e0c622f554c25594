//===- ExposedCollectives.cpp - what products do not hide -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ExposedCollectives.h"

#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;

std::optional<double>
commute::getExposedSeconds(const tp::Communication &communication,
                           tp::GroupAttr group, ArrayRef<tp::MatmulOp> products,
                           double scale, const target::PriceModel &price) {
  double count = group.getSize();
  auto symbols = [&](StringRef name) { return price.getSize(name); };
  double apart = 0;
  tp::Work chunk;
  Type elementType;
  for (tp::MatmulOp matmul : products) {
    auto ruled = cast<tp::DimensionRuleOpInterface>(matmul.getOperation());
    tp::DimensionRule rule = ruled.getDimensionRule();
    auto type = cast<RankedTensorType>(matmul.getResult().getType());
    elementType = type.getElementType();
    // Only the rows are sharded; batches are not.
    std::optional<unsigned> rows =
        tp::DimensionRule::getMajorFactor(rule.results[0], type.getRank() - 2);
    if (!rows)
      return std::nullopt;
    std::optional<double> seconds =
        price.getShardSeconds(matmul, rule, *rows, 1 / scale);
    std::optional<tp::Work> part =
        tp::getShardedWork(matmul, rule, *rows, count / scale, symbols);
    if (!seconds || !part)
      return std::nullopt;
    apart += *seconds;
    chunk.matmulFlops += part->matmulFlops;
    chunk.elementwiseFlops += part->elementwiseFlops;
    chunk.bytesRead += part->bytesRead;
    chunk.bytesWritten += part->bytesWritten;
  }
  double fused =
      price.getPipelinePrice(communication, group, chunk, elementType)
          .getSeconds();
  return std::max(fused - apart, 0.0);
}
