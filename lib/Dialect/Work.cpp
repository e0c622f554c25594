//===- Work.cpp - what an op costs, free of any machine ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/Work.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace commute::tp;

std::optional<int64_t> commute::tp::getNumBytes(Type type,
                                                SymbolValues symbols) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 0;
  std::optional<int64_t> elements = evaluateNumElements(tensor, symbols);
  if (!elements)
    return std::nullopt;
  Type element = tensor.getElementType();
  int64_t components = 1;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    element = complex.getElementType();
    components = 2;
  }
  return llvm::checkedMul<int64_t>(
      *elements,
      components * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

std::optional<Work> commute::tp::getStreamingWork(Operation *op,
                                                  int64_t flopsPerElement,
                                                  SymbolValues symbols) {
  auto getTotal = [&](TypeRange types) {
    std::optional<int64_t> total = 0;
    for (Type type : types) {
      std::optional<int64_t> bytes = getNumBytes(type, symbols);
      total = total && bytes ? llvm::checkedAdd(*total, *bytes) : std::nullopt;
    }
    return total;
  };
  std::optional<int64_t> read = getTotal(op->getOperandTypes());
  std::optional<int64_t> written = getTotal(op->getResultTypes());
  if (!read || !written)
    return std::nullopt;
  Work work;
  work.bytesRead = *read;
  work.bytesWritten = *written;
  if (op->getNumResults() > 0 && flopsPerElement > 0) {
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    std::optional<int64_t> elements =
        type ? evaluateNumElements(type, symbols) : 0;
    std::optional<int64_t> flops =
        elements ? llvm::checkedMul(*elements, flopsPerElement) : std::nullopt;
    if (!flops)
      return std::nullopt;
    work.elementwiseFlops = *flops;
  }
  return work;
}

StringRef commute::tp::getName(CommunicationKind kind) {
  switch (kind) {
  case CommunicationKind::AllReduce:
    return "all_reduce";
  case CommunicationKind::AllGather:
    return "all_gather";
  case CommunicationKind::ReduceScatter:
    return "reduce_scatter";
  case CommunicationKind::AllToAll:
    return "all_to_all";
  }
  llvm_unreachable("unknown kind of communication");
}

//===----------------------------------------------------------------------===//
// Shards
//===----------------------------------------------------------------------===//

static bool runsAlong(const DimensionRule::TensorFactors &tensor,
                      unsigned factor) {
  return llvm::any_of(tensor, [&](const DimensionRule::DimFactors &dim) {
    return llvm::is_contained(dim, factor);
  });
}

/// Less than one part is a multiple of the amount.
static int64_t cut(int64_t amount, double parts) {
  constexpr double limit = 0x1p63;
  double part = std::ceil(static_cast<double>(amount) / parts);
  return part < limit ? static_cast<int64_t>(part)
                      : std::numeric_limits<int64_t>::max();
}

/// Returns the bytes of these tensors, both whole and with `factor` split.
static std::optional<std::pair<int64_t, int64_t>>
getBytesWholeAndCut(TypeRange types,
                    ArrayRef<DimensionRule::TensorFactors> factors,
                    unsigned factor, double parts, SymbolValues symbols) {
  int64_t whole = 0, sharded = 0;
  for (auto [type, tensor] : llvm::zip_equal(types, factors)) {
    std::optional<int64_t> bytes = getNumBytes(type, symbols);
    if (!bytes || llvm::AddOverflow(whole, *bytes, whole))
      return std::nullopt;
    int64_t own = runsAlong(tensor, factor) ? cut(*bytes, parts) : *bytes;
    if (llvm::AddOverflow(sharded, own, sharded))
      sharded = std::numeric_limits<int64_t>::max();
  }
  return std::pair(whole, sharded);
}

std::optional<Work> commute::tp::getShardedWork(Operation *op,
                                                const DimensionRule &rule,
                                                unsigned factor, double parts,
                                                SymbolValues symbols) {
  auto workOp = dyn_cast<WorkOpInterface>(op);
  std::optional<Work> work =
      workOp ? workOp.getWork(symbols) : std::optional<Work>();
  auto read = getBytesWholeAndCut(op->getOperandTypes(), rule.operands, factor,
                                  parts, symbols);
  auto written = getBytesWholeAndCut(op->getResultTypes(), rule.results, factor,
                                     parts, symbols);
  if (!work || !read || !written)
    return std::nullopt;
  // A factor is a loop of the op, so splitting it splits the arithmetic. An op
  // that does not read each operand exactly once (a lookup reads only the
  // selected rows) is split evenly.
  auto cutBytes = [&](int64_t bytes, std::pair<int64_t, int64_t> streamed) {
    return bytes == streamed.first ? streamed.second : cut(bytes, parts);
  };
  work->matmulFlops = cut(work->matmulFlops, parts);
  work->elementwiseFlops = cut(work->elementwiseFlops, parts);
  work->bytesRead = cutBytes(work->bytesRead, *read);
  work->bytesWritten = cutBytes(work->bytesWritten, *written);
  return work;
}

std::optional<Communication>
commute::tp::getShardedCommunication(Operation *op, const DimensionRule &rule,
                                     unsigned factor, double parts,
                                     SymbolValues symbols) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  std::optional<Communication> communication =
      collective ? collective.getCommunication(symbols)
                 : std::optional<Communication>();
  if (!communication)
    return std::nullopt;
  bool isMoved =
      runsAlong(rule.operands[0], factor) || runsAlong(rule.results[0], factor);
  if (isMoved)
    communication->bytes = cut(communication->bytes, parts);
  if (std::optional<Work> &work = communication->chunkWork)
    for (int64_t *amount : {&work->matmulFlops, &work->elementwiseFlops,
                            &work->bytesRead, &work->bytesWritten})
      *amount = cut(*amount, parts);
  return communication;
}
