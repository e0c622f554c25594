//===- GroupStorage.h - groups of ranks in a context ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_DIALECT_GROUPSTORAGE_H
#define COMMUTE_LIB_DIALECT_GROUPSTORAGE_H

#include "mlir/IR/AttributeSupport.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"

namespace commute::tp::detail {

/// The storage of a group: its members and the index of each rank, for fast
/// lookup in groups with thousands of ranks.
struct GroupAttrStorage : mlir::AttributeStorage {
  using KeyTy = std::tuple<llvm::StringRef, int64_t, llvm::ArrayRef<int64_t>>;
  using Place = std::pair<int64_t, int64_t>;

  GroupAttrStorage(const KeyTy &key, llvm::ArrayRef<Place> places)
      : name(std::get<0>(key)), size(std::get<1>(key)), ranks(std::get<2>(key)),
        places(places) {}
  KeyTy getAsKey() const { return {name, size, ranks}; }
  bool operator==(const KeyTy &key) const { return key == getAsKey(); }
  static llvm::hash_code hashKey(const KeyTy &key) {
    return llvm::hash_combine(std::get<0>(key), std::get<1>(key),
                              std::get<2>(key));
  }
  static GroupAttrStorage *construct(mlir::AttributeStorageAllocator &allocator,
                                     KeyTy key) {
    auto &[name, size, ranks] = key;
    name = allocator.copyInto(name);
    ranks = allocator.copyInto(ranks);
    llvm::SmallVector<Place> places;
    for (auto [index, rank] : llvm::enumerate(ranks))
      places.emplace_back(rank, index);
    if (llvm::all_of(places,
                     [](Place place) { return place.first == place.second; }))
      places.clear();
    llvm::sort(places);
    return new (allocator.allocate<GroupAttrStorage>()) GroupAttrStorage(
        key, allocator.copyInto(llvm::ArrayRef<Place>(places)));
  }

  llvm::StringRef name;
  int64_t size;
  llvm::ArrayRef<int64_t> ranks;
  /// Ranks in ascending order with their index in `ranks`; empty if every rank
  /// is its own index.
  llvm::ArrayRef<Place> places;
};

} // namespace commute::tp::detail

#endif // COMMUTE_LIB_DIALECT_GROUPSTORAGE_H
