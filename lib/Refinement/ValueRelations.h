//===- ValueRelations.h - values looked up in the reference -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_VALUERELATIONS_H
#define COMMUTE_LIB_REFINEMENT_VALUERELATIONS_H

#include "Rearrangements.h"
#include "commute/Equivalence/SampledEvaluation.h"
#include "commute/Refinement/Relations.h"

namespace commute::refinement {

using equivalence::FieldValue;

/// A value of the reference, and the relation of the ranks' values to it.
struct FoundRelation {
  /// An index into the values that were added.
  size_t value;
  /// Over "output", as in parseOutputRelation.
  Relation relation;
};

/// Finds out by content what values of ranks are of the reference: elements are
/// random numbers, so equal elements are the same value.
class ValueRelations {
public:
  ValueRelations(equivalence::SampledEvaluation &evaluation, const Mesh &mesh,
                 llvm::ArrayRef<int64_t> world);

  /// Adds a value of the reference, in program order.
  void add(mlir::Value value);
  mlir::Value getValue(size_t index) const { return values[index].value; }
  FieldValue getContent(size_t index) const { return values[index].content; }
  size_t getCount() const { return values.size(); }
  /// Returns the index of a value that was added.
  size_t getIndex(mlir::Value value) const { return indexOf.lookup(value); }

  /// Finds a value of the reference that the ranks' values are related to.
  /// `contents` are in the order of the world; null for ranks without a value.
  std::optional<FoundRelation> find(llvm::ArrayRef<FieldValue> contents);
  /// Returns the relation of the ranks' values to one value.
  std::optional<Relation> findTo(const FieldValue &whole,
                                 llvm::ArrayRef<FieldValue> contents);
  /// The same, for tensors that are neither whole nor shards: their dims or
  /// blocks are in another order. `inputs` are the relations of the inputs.
  std::optional<Rearrangement>
  findRearranged(const FieldValue &whole, llvm::ArrayRef<FieldValue> contents,
                 llvm::ArrayRef<Relation> inputs);
  /// Returns all values of the reference with exactly this content.
  llvm::ArrayRef<size_t> findEqual(const FieldValue &content);

  /// Returns the content that a relation requires on a rank; null if it does
  /// not fit the samples.
  FieldValue evaluate(const Relation &relation, const FieldValue &whole,
                      int64_t rank);
  /// Returns the sum over the members along axes, for the rank; null if the
  /// tensors do not fit together.
  FieldValue sum(llvm::ArrayRef<FieldValue> contents,
                 llvm::ArrayRef<std::string> axes, int64_t rank);
  /// Returns the elements times a fraction; null for integers.
  FieldValue scale(const FieldValue &value, int64_t numerator,
                   int64_t denominator);
  /// The sizes of groups along axes and their products.
  std::vector<std::pair<int64_t, std::string>> getCounts() const;
  bool areEqual(const FieldValue &a, const FieldValue &b);
  /// True if the members along axes hold equal values.
  bool areEqualAlong(llvm::ArrayRef<FieldValue> contents,
                     llvm::ArrayRef<std::string> axes);

  /// The sets of axes over which values may be partial.
  std::vector<std::vector<std::string>> getAxisSets() const;

  llvm::ArrayRef<int64_t> getWorld() const { return world; }
  const Mesh &getMesh() const { return mesh; }
  equivalence::SampledEvaluation &getEvaluation() { return evaluation; }

private:
  struct Entry {
    mlir::Value value;
    FieldValue content;
  };
  /// A block of a value of the reference, as the first rank would hold it.
  struct Block {
    size_t value;
    Relation relation;
  };

  /// Returns the sums over the members along axes, for all ranks; nulls if the
  /// members hold no summands.
  std::vector<FieldValue> sumAll(llvm::ArrayRef<FieldValue> contents,
                                 llvm::ArrayRef<std::string> axes);
  bool holds(const Relation &relation, const FieldValue &whole,
             llvm::ArrayRef<FieldValue> contents);
  /// Evaluates a function of one or more tensors; null if it does not fit.
  FieldValue move(const Relation &relation, const FieldValue &whole,
                  int64_t rank);
  void indexBlocks(size_t value);

  equivalence::SampledEvaluation &evaluation;
  const Mesh &mesh;
  llvm::SmallVector<int64_t> world;
  std::vector<Entry> values;
  llvm::DenseMap<mlir::Value, size_t> indexOf;
  llvm::DenseMap<uint64_t, llvm::SmallVector<size_t, 1>> wholes;
  llvm::DenseMap<uint64_t, llvm::SmallVector<Block, 1>> blocks;
  size_t numIndexed = 0;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_VALUERELATIONS_H
