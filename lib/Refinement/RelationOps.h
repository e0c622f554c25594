//===- RelationOps.h - relations as ops -------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_RELATIONOPS_H
#define COMMUTE_LIB_REFINEMENT_RELATIONOPS_H

#include "UniqueOps.h"
#include "commute/Refinement/Relations.h"

#include <functional>
#include <map>

namespace commute::refinement {

/// Appends ops that compute relations on one rank.
class RelationOps {
public:
  /// Returns the tensor of the reference with a name, or null.
  using Lookup = std::function<mlir::Value(llvm::StringRef name)>;

  RelationOps(UniqueOps &ops, const Mesh &mesh, Lookup lookup)
      : ops(ops), mesh(mesh), lookup(std::move(lookup)) {}

  /// Computes a relation on a rank. `elementType` is that of tensors of zeros.
  /// The error says which function does not fit its operand.
  llvm::Expected<mlir::Value> build(const Relation &relation, int64_t rank,
                                    mlir::Type elementType);

  /// Treats `partial(x)` as x: the caller adds up the summands.
  void ignorePartial() { ignoresPartial = true; }

private:
  llvm::Expected<mlir::Value> buildShard(const Relation &relation,
                                         mlir::Value operand, int64_t rank);
  llvm::Expected<mlir::Value> buildPartial(const Relation &relation,
                                           mlir::Value operand, int64_t rank);
  /// Returns the axis of a relation, and the members of the rank's group along
  /// it, or an error.
  llvm::Expected<std::pair<std::string, const std::vector<int64_t> *>>
  findMembers(const Relation &relation, int64_t rank) const;
  /// Returns the dim counted from 0, or an error.
  llvm::Expected<unsigned> getDim(const Relation &relation,
                                  mlir::Value operand) const;

  UniqueOps &ops;
  const Mesh &mesh;
  Lookup lookup;
  bool ignoresPartial = false;
  /// Unknown summands by expression, axis, and position; the last position
  /// holds the rest.
  std::map<std::tuple<std::string, std::string, size_t>, mlir::Value> summands;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_RELATIONOPS_H
