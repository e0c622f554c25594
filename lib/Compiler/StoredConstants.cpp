//===- StoredConstants.cpp - constant tensors of archives -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/StoredConstants.h"

#include "ConstantInputs.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <cstring>
#include <limits>
#include <tuple>

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
    if (getName(a, index, tp::TPDialect::kindAttrName) ==
        archive::inputKindName(archive::InputKind::TensorConstant))
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

/// Returns a hash of a tensor's type, layout and data, or an empty string if
/// the data cannot be read.
static std::string getContent(const archive::Weights &weights,
                              const archive::StoredTensor &tensor) {
  // A tensor without elements has no data.
  archive::Weights::Bytes data;
  if (!llvm::is_contained(tensor.sizes, 0)) {
    if (!tensor.isRaw || !weights.hasBytes(tensor))
      return "";
    llvm::Expected<archive::Weights::Bytes> loaded = weights.load(tensor);
    if (!loaded) {
      llvm::consumeError(loaded.takeError());
      return "";
    }
    data = std::move(*loaded);
  }
  std::vector<int64_t> layout = {static_cast<int64_t>(tensor.dtype),
                                 tensor.storageOffset};
  llvm::append_range(layout, tensor.sizes);
  llvm::append_range(layout, tensor.strides);
  auto getHash = [](const void *data, size_t size) {
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
        llvm::ArrayRef(static_cast<const uint8_t *>(data), size));
    return llvm::utohexstr(hash.high64) + llvm::utohexstr(hash.low64);
  };
  return getHash(layout.data(), layout.size() * sizeof(int64_t)) + "-" +
         getHash(data.data.get(), data.size);
}

/// Returns the only archive of a program, or null if it has none or several.
static const archive::ProgramArchive *
getOnlyArchive(const LoadedProgram &program) {
  std::vector<const archive::ProgramArchive *> archives = program.getArchives();
  return archives.size() == 1 ? archives.front() : nullptr;
}

/// Sets the content of the inputs that are constant tensors.
static void stateConstantContents(const LoadedProgram &program) {
  const archive::ProgramArchive *archive = getOnlyArchive(program);
  if (!archive)
    return;
  mlir::func::FuncOp function = analysis::getMain(program.getModule());
  forEachStoredInput(
      *archive, function, archive::InputKind::TensorConstant,
      [](mlir::Type) { return true; },
      [&](unsigned index, const archive::Weights &weights,
          const archive::StoredTensor &tensor) {
        if (std::string content = getContent(weights, tensor); !content.empty())
          function.setArgAttr(
              index, tp::contentAttrName,
              mlir::StringAttr::get(function.getContext(), content));
      });
}

void compiler::stateStoredData(const LoadedProgram &program) {
  stateConstantContents(program);
  const archive::ProgramArchive *archive = getOnlyArchive(program);
  if (!archive)
    return;
  mlir::func::FuncOp function = analysis::getMain(program.getModule());
  mlir::Builder builder(function.getContext());
  auto isOneInteger = [](mlir::Type type) {
    return hasOneElement(type) &&
           mlir::isa<mlir::IntegerType>(mlir::getElementTypeOrSelf(type));
  };
  forEachStoredInput(
      *archive, function, archive::InputKind::Buffer, isOneInteger,
      [&](unsigned index, const archive::Weights &weights,
          const archive::StoredTensor &tensor) {
        if (mlir::TypedAttr number = readNumber(weights, tensor, builder))
          function.setArgAttr(index, tp::storedAttrName, number);
      });
}

/// Returns a group whose members are said to hold the same tensor as input
/// `index`, and two of them that do not.
static std::optional<std::tuple<tp::GroupAttr, int64_t, int64_t>>
findContradiction(llvm::ArrayRef<LoadedProgram> programs, unsigned index) {
  mlir::ModuleOp module = programs.front().getModule();
  auto placements =
      analysis::getMain(module).getArgAttrOfType<mlir::DictionaryAttr>(
          index, tp::TPDialect::placementsAttrName);
  auto getContent = [&](int64_t rank) {
    return analysis::getMain(programs[rank].getModule())
        .getArgAttr(index, tp::contentAttrName);
  };
  for (tp::GroupAttr group : analysis::getGroups(module)) {
    auto placement = placements
                         ? placements.getAs<tp::PlacementAttr>(group.getName())
                         : tp::PlacementAttr();
    if (!placement || placement.getKind() != tp::PlacementKind::Replicated)
      continue;
    for (int64_t number = 0; number < group.getNumGroups(); ++number) {
      llvm::ArrayRef<int64_t> members = group.getMembers(number);
      for (int64_t member : members)
        if (member < static_cast<int64_t>(programs.size()) &&
            getContent(member) != getContent(members.front()))
          return std::tuple(group, members.front(), member);
    }
  }
  return std::nullopt;
}

llvm::Error
compiler::checkConstantsOfRanks(llvm::MutableArrayRef<LoadedProgram> programs) {
  llvm::SmallVector<mlir::func::FuncOp> functions;
  unsigned count = std::numeric_limits<unsigned>::max();
  for (const LoadedProgram &program : programs) {
    stateConstantContents(program);
    functions.push_back(analysis::getMain(program.getModule()));
    count = std::min(count, functions.back().getNumArguments());
  }
  for (unsigned index = 0; index < count; ++index) {
    auto getContent = [&](mlir::func::FuncOp function) {
      return function.getArgAttr(index, tp::contentAttrName);
    };
    if (llvm::all_of(functions, [&](mlir::func::FuncOp function) {
          return getContent(function) == getContent(functions.front());
        }))
      continue;
    if (auto contradiction = findContradiction(programs, index)) {
      auto [group, first, other] = *contradiction;
      auto name = functions.front().getArgAttrOfType<mlir::StringAttr>(
          index, tp::TPDialect::nameAttrName);
      return llvm::createStringError(
          programs[other].origin + ": the constant tensor '" +
          (name ? name.getValue() : "") + "' has other elements than in " +
          programs[first].origin + ", but the ranks of group '" +
          group.getName() +
          "' are said to hold the same; state \"inputs\": {\"" +
          (name ? name.getValue() : "") + "\": {\"" + group.getName() +
          "\": \"varying\"}}");
    }
    for (mlir::func::FuncOp function : functions)
      function.removeArgAttr(index, tp::TPDialect::valueAttrName);
  }
  for (mlir::func::FuncOp function : functions)
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      function.removeArgAttr(index, tp::contentAttrName);
  return llvm::Error::success();
}
