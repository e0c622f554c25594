//===- BatchParts.h - what ranks compute of parts of a batch ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_BATCHPARTS_H
#define COMMUTE_LIB_REFINEMENT_BATCHPARTS_H

#include "RankDataflow.h"
#include "RecognizedValues.h"

namespace commute::refinement {

/// Recognizes what ranks compute of one part of a batch, as of a micro-batch,
/// where the reference takes the batch at once.
///
/// What the reference computes of a part alone is what it computes of a batch
/// of which every part is this one. So it is evaluated for such batches, and
/// values are looked up by their elements. Means are those of the part then;
/// other values may differ by a factor that divides the number of parts.
class BatchParts {
public:
  /// A value of the reference of one part, or the sum of those of several.
  struct Value {
    /// What is computed: the same number for the same value of all parts.
    size_t number;
    llvm::SmallVector<int64_t> offsets;
    /// The number of parts in the batch.
    int64_t count;
    int64_t numerator, denominator;
    /// Which of the parts.
    llvm::SmallVector<int64_t> parts;
  };

  BatchParts(ValueRelations &relations, const RecognizedValues &recognized,
             const RankValues &values)
      : relations(relations), recognized(recognized), values(values) {}

  /// Returns what a step is of parts, if it is anything.
  const std::optional<Value> &find(const Step &step);

private:
  /// An input of the reference, and the dim that parts are blocks of.
  using Inputs = std::map<unsigned, int64_t>;

  /// Finds the parts that programs cut from inputs: by their number, the
  /// inputs.
  std::map<int64_t, Inputs> findInputs();
  void evaluate();
  void evaluate(int64_t count, int64_t part, const Inputs &inputs);
  std::optional<Value> findAlone(const FieldValue &content);
  std::optional<Value> findSum(const Step &step);
  FieldValue getPart(const FieldValue &whole, int64_t dim, int64_t count,
                     int64_t part);

  ValueRelations &relations;
  const RecognizedValues &recognized;
  const RankValues &values;
  bool isEvaluated = false;
  /// What the reference computes of parts. The values are places in `sources`.
  KnownElements elements;
  struct Source {
    size_t number;
    int64_t count, part;
  };
  std::vector<Source> sources;
  std::vector<int64_t> counts;
  llvm::DenseMap<const Step *, std::optional<Value>> known;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_BATCHPARTS_H
