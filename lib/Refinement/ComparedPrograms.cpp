//===- ComparedPrograms.cpp - the programs of a refinement --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Refinement.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Analysis/Sizes/SymbolicSizes.h"
#include "commute/Equivalence/ResolvedPrograms.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

llvm::Error Refinement::collectMesh(ModuleOp referenceModule,
                                    ArrayRef<ModuleOp> modules) {
  mesh = stated.mesh;
  if (llvm::Error error = analysis::checkGroupsAreKnown(referenceModule))
    return llvm::createStringError("the reference: " +
                                   llvm::toString(std::move(error)));
  if (size_t numRanks = analysis::getWorld(referenceModule).size();
      numRanks > 1)
    return llvm::createStringError(
        "the reference runs on " + Twine(numRanks) +
        " ranks; it must be the program of one device, whose process groups "
        "have one rank each, if there are any");
  for (ModuleOp module : modules) {
    if (llvm::Error error = analysis::checkGroupsAreKnown(module))
      return error;
    for (tp::GroupAttr group : analysis::getGroups(module)) {
      Mesh::Groups groups;
      for (int64_t number = 0; number < group.getNumGroups(); ++number)
        groups.emplace_back(group.getMembers(number));
      // An axis has one name in questions and reports.
      if (llvm::none_of(mesh.getAxes(), [&](const auto &axis) {
            return axis.second == groups;
          }))
        mesh.add(group.getKey(), std::move(groups));
    }
  }
  std::set<int64_t> known;
  for (const auto &[name, groups] : mesh.getAxes())
    for (const std::vector<int64_t> &members : groups)
      known.insert(members.begin(), members.end());
  if (modules.size() > 1) {
    for (size_t rank = 0; rank < modules.size(); ++rank)
      world.push_back(rank);
    for (int64_t rank : known)
      if (rank >= static_cast<int64_t>(modules.size()))
        return llvm::createStringError("the mesh has rank " + Twine(rank) +
                                       ", but there are programs of " +
                                       Twine(modules.size()) +
                                       " ranks only; give one for each rank");
  } else {
    world.assign(known.begin(), known.end());
    if (world.empty())
      world.push_back(0);
  }
  if (mesh.getAxes().empty() && world.size() > 1)
    mesh.add("ranks", {std::vector<int64_t>(world.begin(), world.end())});
  return llvm::Error::success();
}

llvm::Expected<OwningOpRef<ModuleOp>>
Refinement::resolveModule(ModuleOp module, unsigned program, StringRef what,
                          std::map<std::string, int64_t> &symbols) {
  if (!analysis::getMain(module))
    return llvm::createStringError(what + ": a program must be a module with "
                                          "one function of one block");
  llvm::Expected<analysis::SymbolicSizes> sizes =
      analysis::SymbolicSizes::resolve(module);
  if (!sizes)
    return sizes.takeError();
  func::FuncOp main = analysis::getMain(module);
  llvm::SetVector<StringAttr> ofValues = equivalence::getSizesOfValues(main);
  if (!undecidedSize)
    undecidedSize = equivalence::findSizeOfValues(main);
  auto getValue = [&](StringRef symbol) {
    std::string key = (what + ": " + symbol).str();
    int64_t value = sizes->getExample(symbol);
    // Sizes of values get different numbers, so that they can be told apart.
    if (llvm::any_of(ofValues, [&](StringAttr name) {
          return name.getValue() == symbol;
        })) {
      auto known = sizeNumbers.find(key);
      auto [number, isNew] = numberOfSize.try_emplace(
          symbol.str(), static_cast<int64_t>(numberOfSize.size()));
      auto isTaken = [&](int64_t number) {
        auto size = sizeOfNumber.find(number);
        return size != sizeOfNumber.end() && size->second != symbol;
      };
      value = known != sizeNumbers.end()
                  ? known->second
                  : equivalence::fitSizeOfValues(
                        main, symbol,
                        sizes->getValueFrom(symbol, value + number->second)
                            .value_or(value),
                        isTaken);
      sizeOfNumber.try_emplace(value, symbol.str());
    }
    return symbols[key] = value;
  };
  llvm::Expected<OwningOpRef<ModuleOp>> resolved =
      equivalence::resolveSizes(module, program, getValue);
  if (!resolved)
    return llvm::createStringError(what + ": " +
                                   llvm::toString(resolved.takeError()));
  return resolved;
}

/// Returns "rank 2", or "the ranks" if one program is that of all.
static std::string describeProgram(size_t index, size_t numPrograms) {
  return numPrograms == 1 ? std::string("the ranks")
                          : "rank " + std::to_string(index);
}

llvm::Error Refinement::resolve(ModuleOp referenceModule,
                                ArrayRef<ModuleOp> modules) {
  std::map<std::string, int64_t> symbols;
  llvm::Expected<OwningOpRef<ModuleOp>> resolved =
      resolveModule(referenceModule, 0, "the reference", symbols);
  if (!resolved)
    return resolved.takeError();
  resolvedReference = std::move(*resolved);
  reference = analysis::getMain(*resolvedReference);
  for (auto [index, module] : llvm::enumerate(modules)) {
    std::string what = describeProgram(index, modules.size());
    llvm::Expected<OwningOpRef<ModuleOp>> own =
        resolveModule(module, 1, what, symbols);
    if (!own)
      return own.takeError();
    resolvedRanks.push_back(std::move(*own));
  }
  for (auto [index, rank] : llvm::enumerate(world)) {
    JoinedRank &own = ranks.emplace_back();
    own.rank = rank;
    own.function = analysis::getMain(
        *resolvedRanks[modules.size() == 1 ? size_t(0) : index]);
  }
  if (!symbols.empty()) {
    std::string text = "sizes were ";
    llvm::raw_string_ostream os(text);
    size_t count = 0;
    for (const auto &[name, value] : symbols)
      if (count++ < 8)
        os << (count > 1 ? ", " : "") << name << " = " << value;
    os << ": other sizes were not evaluated";
    result.notes.push_back(text);
  }
  return llvm::Error::success();
}

std::optional<NumbersOfSizes> Refinement::matchSizes(size_t numPrograms) {
  if (!evaluation)
    if (llvm::Error error = evaluate(proofOptions.seed)) {
      llvm::consumeError(std::move(error));
      return std::nullopt;
    }
  using Size = equivalence::UnknownResults::Size;
  ArrayRef<Size> ofReference = evaluation->getUnknownResults().getSizes(0);
  NumbersOfSizes matched;
  for (const Size &size : ofReference)
    matched["the reference: " + size.symbol] = size.number;
  for (const Size &size : evaluation->getUnknownResults().getSizes(1)) {
    const Size *same = llvm::find_if(
        ofReference, [&](const Size &other) { return other.key == size.key; });
    if (same == ofReference.end())
      return std::nullopt;
    auto [symbol, rank] = StringRef(size.symbol).split('@');
    auto index = llvm::find_if(
        world, [&](int64_t own) { return std::to_string(own) == rank; });
    std::string program = describeProgram(index - world.begin(), numPrograms);
    auto [known, isNew] =
        matched.try_emplace(program + ": " + symbol.str(), same->number);
    if (!isNew && known->second != same->number)
      return std::nullopt;
  }
  return matched;
}

llvm::Error Refinement::buildReference(ModuleOp referenceModule) {
  func::FuncOp joined = joinedOps.getFunction();
  SmallVector<Value> inputs;
  for (BlockArgument argument : joined.getArguments()) {
    referenceOps.setLocation(argument.getLoc());
    inputs.push_back(referenceOps.addInput(
        joinedOps.getInputName(argument.getArgNumber()), argument.getType()));
  }
  // A program of one device may still communicate, with itself.
  std::vector<JoinedRank> device(1);
  device.front().function = reference;
  device.front().rank = analysis::getWorld(referenceModule).front();
  JoinedRanks run(
      referenceOps, device,
      [&](const JoinedRank &, BlockArgument argument) {
        unsigned index = argument.getArgNumber();
        auto tensor = dyn_cast<RankedTensorType>(argument.getType());
        TypedAttr value = getConstant(reference, index);
        return value && tensor ? referenceOps.constant(value, tensor.getShape(),
                                                       tensor.getElementType())
                               : inputs[index];
      },
      /*isReference=*/true);
  llvm::Expected<bool> runs = run.run();
  if (!runs)
    return runs.takeError();
  if (!*runs)
    return llvm::createStringError("the reference cannot run: " +
                                   run.failures.front().message);
  ofReference = std::move(device.front().values);
  return llvm::Error::success();
}
