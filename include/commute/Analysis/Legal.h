//===- Legal.h - a finding, or why there is none ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_LEGAL_H
#define COMMUTE_ANALYSIS_LEGAL_H

#include "mlir/IR/Operation.h"

#include <optional>
#include <string>
#include <variant>

namespace commute::analysis {

/// The reason why a rewrite is not made. The spelling of each code
/// (`stringify`) is part of the interface of `--json` and does not change.
enum class RefusalCode {
  /// There is nothing to rewrite, and nothing to report.
  NotApplicable,

  // Values and memory.
  /// An intermediate value has users that need it.
  OtherUsers,
  /// A user would observe different strides.
  Strides,
  /// An op in between may write into memory.
  MemoryWrite,
  /// Ops cannot be put into the order that the rewrite needs.
  Dependence,
  ElementTypes,
  /// A size is symbolic, and the rewrite needs a number.
  SymbolicSize,
  /// A limit of the search.
  Limit,

  // Reassembly around a collective: how a concatenation arranges blocks.
  Layout,
  Duplicate,
  Gap,
  Order,
  Window,
  Overlap,
  Trim,
  Count,

  // Groups.
  Mesh,
  MissingGroup,
  UnknownGroup,
  UnnamedGroup,
  SingleRank,
  Reduction,

  // Products.
  NoProduct,
  Batched,
  Bias,
  Scaled,
  Transposed,
  Contraction,
  Constant,
  Indirect,

  // Shards of rows.
  Opaque,
  Output,
  Collective,
  WholeRows,
  MinorDim,
  TwoDims,
  Varying,
  /// The op, or which value it returns, differs between ranks.
  OfRank,
  /// It would hold only if the other ranks ran a certain program, and their
  /// programs are unknown.
  UnknownRanks,
  Indivisible,
  Unpaddable,

  /// The target vocabulary has no form for the result.
  Vocabulary,

  // Decisions about legal rewrites.
  Unprofitable,
  Unpriced,
  NoProgress,
  Rounding,
  UpstreamRule,
  /// Another rewrite of the same ops was preferred.
  Conflict,
};
llvm::StringRef stringify(RefusalCode code);

/// A command-line option that would allow a rewrite: "assume" with the value
/// "s0 % 8 == 0".
struct RemedyOption {
  std::string name;
  std::string value;
};

/// The reason why an op is not rewritten.
struct Refusal {
  /// The op that causes the refusal; null for the op that was analyzed.
  mlir::Operation *op = nullptr;
  RefusalCode code = RefusalCode::NotApplicable;
  /// A sentence, or the end of one about `op`.
  std::string reason = {};
  /// The change that would allow the rewrite, if there is one.
  std::string remedy = {};
  /// The same change, if it is an option that can be tried as it stands.
  std::optional<RemedyOption> option = {};
  /// The op that blocks the rewrite, where it is not `op`: a refusal about a
  /// collective may be caused by a user of its result.
  mlir::Operation *blocker = nullptr;
  /// The number of rows from which the rewrite would pay, if it is refused for
  /// its price and larger sizes would change that.
  std::optional<int64_t> payingRows = {};

  bool isApplicable() const { return code != RefusalCode::NotApplicable; }
};

/// A legal finding, or a refusal. `Legal<>` states only that something is
/// legal.
template <typename T = void>
class Legal {
public:
  Legal(T finding) : content(std::move(finding)) {}
  Legal(Refusal refusal) : content(std::move(refusal)) {}

  explicit operator bool() const { return std::holds_alternative<T>(content); }
  T &operator*() { return std::get<T>(content); }
  const T &operator*() const { return std::get<T>(content); }
  T *operator->() { return &std::get<T>(content); }
  const T *operator->() const { return &std::get<T>(content); }
  Refusal &getRefusal() { return std::get<Refusal>(content); }
  const Refusal &getRefusal() const { return std::get<Refusal>(content); }

private:
  std::variant<T, Refusal> content;
};

template <>
class Legal<void> {
public:
  Legal() = default;
  Legal(Refusal refusal) : refusal(std::move(refusal)) {}

  explicit operator bool() const { return !refusal; }
  Refusal &getRefusal() { return *refusal; }
  const Refusal &getRefusal() const { return *refusal; }

private:
  std::optional<Refusal> refusal;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_LEGAL_H
