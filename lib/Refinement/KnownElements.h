//===- KnownElements.h - tensors found by their elements --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_KNOWNELEMENTS_H
#define COMMUTE_LIB_REFINEMENT_KNOWNELEMENTS_H

#include "ValueRelations.h"

namespace commute::refinement {

/// False for small numbers and truth values: they occur everywhere, so that
/// single ones say nothing about where they come from.
bool hasRandomElements(const FieldValue &content);

/// The stored elements of a tensor by their indices. Dims of one index are
/// left out.
class StoredElements {
public:
  explicit StoredElements(const equivalence::FieldTensor &tensor);

  size_t getRank() const { return dims.size(); }
  int64_t getSize(size_t dim) const { return dims[dim].first->getSize(); }
  bool isUniform(size_t dim) const { return dims[dim].first->isUniform; }
  llvm::SmallVector<int64_t> getIndices(size_t position) const;
  /// Returns nullopt if no element is stored at the indices.
  std::optional<uint64_t> get(llvm::ArrayRef<int64_t> indices) const;

private:
  const equivalence::FieldTensor &tensor;
  llvm::SmallVector<std::pair<const equivalence::SampledDim *, int64_t>, 4>
      dims;
};

/// Tensors that are found again by single elements: these are random numbers of
/// the field, so that equal elements are the same value.
class KnownElements {
public:
  /// A block of a tensor.
  struct Block {
    size_t tensor;
    /// Along the dims of the tensor that have several indices.
    llvm::SmallVector<int64_t> offsets;
  };

  /// Adds a tensor, and for which value it is computed. Of tensors with equal
  /// contents, only the first is added.
  void add(const FieldValue &content, size_t owner, bool isConstant);
  /// Adds elements that depend on no input.
  void addConstants(const KnownElements &others) {
    constants.insert(others.constants.begin(), others.constants.end());
  }
  /// To be called when all tensors have been added.
  void sort();

  /// Returns the content of a tensor, and the value that it is computed for.
  const std::pair<FieldValue, size_t> &get(size_t tensor) const {
    return tensors[tensor];
  }
  /// True if all elements are elements of tensors, in whatever order.
  bool contains(const FieldValue &content) const;
  /// Finds a tensor that this is a block of, at any offset; the preferred one
  /// if that is possible.
  std::optional<Block> findBlock(const FieldValue &content,
                                 std::optional<size_t> preferred) const;
  /// Returns the values that elements come from.
  std::vector<size_t> getOwners(const FieldValue &content) const;
  /// Returns a value that has this element.
  std::optional<size_t> findOwner(uint64_t element) const {
    llvm::ArrayRef<Place> found = findPlaces(element);
    return found.empty() ? std::nullopt
                         : std::optional(tensors[found.front().tensor].second);
  }
  /// True for elements that depend on no input.
  bool isConstant(uint64_t element) const {
    return constants.contains(element);
  }

private:
  /// An element, and a tensor that has it at a position.
  struct Place {
    uint64_t element;
    uint32_t tensor, position;
  };

  /// Returns the first places of an element; empty if there is none.
  llvm::ArrayRef<Place> findPlaces(uint64_t element) const;

  std::vector<std::pair<FieldValue, size_t>> tensors;
  /// Sorted by element.
  std::vector<Place> places;
  llvm::DenseSet<uint64_t> constants;
  /// The hashes of the tensors: views of a value are looked up once.
  llvm::DenseSet<uint64_t> hashes;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_KNOWNELEMENTS_H
