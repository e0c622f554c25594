//===- StoredConstants.cpp - constant tensors of archives -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "StoredConstants.h"

#include "commute/Archive/Weights.h"
#include "commute/Dialect/TPDialect.h"

#include <cstring>

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;

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

llvm::Error tool::compareConstants(const LoadedProgram &first,
                                   const LoadedProgram &second,
                                   equivalence::VerifyResult &result) {
  if (!first.archive || !second.archive)
    return llvm::Error::success();
  llvm::Expected<mlir::func::FuncOp> a = getMain(first);
  if (!a)
    return a.takeError();
  llvm::Expected<mlir::func::FuncOp> b = getMain(second);
  if (!b)
    return b.takeError();
  llvm::SmallVector<unsigned> constants;
  auto getName = [](mlir::func::FuncOp function, unsigned index,
                    llvm::StringRef attribute) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(index, attribute);
    return name ? name.getValue() : llvm::StringRef();
  };
  unsigned count = std::min(a->getNumArguments(), b->getNumArguments());
  for (unsigned index = 0; index < count; ++index)
    if (getName(*a, index, tp::TPDialect::kindAttrName) == "tensor_constant")
      constants.push_back(index);
  if (constants.empty())
    return llvm::Error::success();
  llvm::Expected<archive::Weights> ofFirst =
      archive::Weights::open(*first.archive);
  if (!ofFirst)
    return ofFirst.takeError();
  llvm::Expected<archive::Weights> ofSecond =
      archive::Weights::open(*second.archive);
  if (!ofSecond)
    return ofSecond.takeError();
  for (unsigned index : constants) {
    llvm::StringRef name = getName(*a, index, tp::TPDialect::parameterAttrName);
    const archive::StoredTensor *x = ofFirst->find(name);
    const archive::StoredTensor *y =
        ofSecond->find(getName(*b, index, tp::TPDialect::parameterAttrName));
    if (!x || !y || !x->isRaw || !y->isRaw || !ofFirst->hasBytes(*x) ||
        !ofSecond->hasBytes(*y))
      continue;
    llvm::Expected<bool> isEqual = areEqual(*ofFirst, *x, *ofSecond, *y);
    if (!isEqual)
      return isEqual.takeError();
    if (!*isEqual)
      result.differences.push_back(
          {("the constant tensor '" + name + "' (input " + llvm::Twine(index) +
            ") has different elements")
               .str(),
           a->getArgument(index).getLoc(), b->getArgument(index).getLoc()});
  }
  return llvm::Error::success();
}
