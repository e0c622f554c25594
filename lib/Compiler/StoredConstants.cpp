//===- StoredConstants.cpp - constant tensors of archives -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/StoredConstants.h"

#include "commute/Archive/Weights.h"
#include "commute/Dialect/TPDialect.h"

#include <cstring>

using namespace commute;
using namespace commute::compiler;

/// Returns true if two tensors have the same type, layout and data.
static llvm::Expected<bool> areEqual(const archive::Weights &first,
                                     const archive::StoredTensor &a,
                                     const archive::Weights &second,
                                     const archive::StoredTensor &b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes || a.strides != b.strides ||
      a.storageOffset != b.storageOffset)
    return false;
  llvm::Expected<archive::Weights::Bytes> x = first.load(a);
  if (!x)
    return x.takeError();
  llvm::Expected<archive::Weights::Bytes> y = second.load(b);
  if (!y)
    return y.takeError();
  return x->size == y->size &&
         std::memcmp(x->data.get(), y->data.get(), x->size) == 0;
}

static llvm::Error compareArchives(const archive::ProgramArchive &first,
                                   mlir::func::FuncOp a,
                                   const archive::ProgramArchive &second,
                                   mlir::func::FuncOp b, llvm::StringRef where,
                                   equivalence::VerifyResult &result) {
  llvm::SmallVector<unsigned> constants;
  auto getName = [](mlir::func::FuncOp function, unsigned index,
                    llvm::StringRef attribute) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(index, attribute);
    return name ? name.getValue() : llvm::StringRef();
  };
  unsigned count = std::min(a.getNumArguments(), b.getNumArguments());
  for (unsigned index = 0; index < count; ++index)
    if (getName(a, index, tp::TPDialect::kindAttrName) == "tensor_constant")
      constants.push_back(index);
  if (constants.empty())
    return llvm::Error::success();
  llvm::Expected<archive::Weights> ofFirst = archive::Weights::open(first);
  if (!ofFirst)
    return ofFirst.takeError();
  llvm::Expected<archive::Weights> ofSecond = archive::Weights::open(second);
  if (!ofSecond)
    return ofSecond.takeError();
  for (unsigned index : constants) {
    llvm::StringRef name = getName(a, index, tp::TPDialect::parameterAttrName);
    const archive::StoredTensor *x = ofFirst->find(name);
    const archive::StoredTensor *y =
        ofSecond->find(getName(b, index, tp::TPDialect::parameterAttrName));
    if (!x || !y || !x->isRaw || !y->isRaw || !ofFirst->hasBytes(*x) ||
        !ofSecond->hasBytes(*y))
      continue;
    llvm::Expected<bool> isEqual = areEqual(*ofFirst, *x, *ofSecond, *y);
    if (!isEqual)
      return isEqual.takeError();
    if (!*isEqual)
      result.differences.push_back(
          {("the constant tensor '" + name + "' (input " + llvm::Twine(index) +
            ") has different elements" + where)
               .str(),
           a.getArgument(index).getLoc(), b.getArgument(index).getLoc()});
  }
  return llvm::Error::success();
}

llvm::Error compiler::compareConstants(const LoadedProgram &first,
                                       const LoadedProgram &second,
                                       equivalence::VerifyResult &result) {
  std::vector<const archive::ProgramArchive *> ofFirst = first.getArchives();
  std::vector<const archive::ProgramArchive *> ofSecond = second.getArchives();
  if (ofFirst.empty() || ofSecond.empty())
    return llvm::Error::success();
  llvm::Expected<mlir::func::FuncOp> a = getMain(first);
  if (!a)
    return a.takeError();
  llvm::Expected<mlir::func::FuncOp> b = getMain(second);
  if (!b)
    return b.takeError();
  // One archive may stand for all ranks.
  size_t numRanks = std::max(ofFirst.size(), ofSecond.size());
  for (size_t rank = 0; rank < numRanks; ++rank)
    if (llvm::Error error = compareArchives(
            *ofFirst[std::min(rank, ofFirst.size() - 1)], *a,
            *ofSecond[std::min(rank, ofSecond.size() - 1)], *b,
            numRanks == 1 ? "" : " on rank " + std::to_string(rank), result))
      return error;
  return llvm::Error::success();
}
