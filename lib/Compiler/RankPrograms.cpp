//===- RankPrograms.cpp - reading the archives of all ranks -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/RankPrograms.h"

#include "MergedRanks.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Compiler/StoredConstants.h"
#include "commute/Dialect/CarrierAttributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

/// Returns, for example, "ranks 1, 2 and 5" or "rank 1".
static std::string listRanks(ArrayRef<int64_t> ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  constexpr size_t maxListed = 8;
  size_t count = std::min(ranks.size(), maxListed);
  for (size_t index = 0; index < count; ++index) {
    if (index > 0)
      text += index + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[index]);
  }
  return count < ranks.size()
             ? text + " and " + std::to_string(ranks.size() - count) + " more"
             : text;
}

//===----------------------------------------------------------------------===//
// Which files belong to which rank
//===----------------------------------------------------------------------===//

/// Two paths may name the same file.
static llvm::Error checkDistinct(ArrayRef<std::string> paths) {
  std::map<llvm::sys::fs::UniqueID, size_t> known;
  for (auto [rank, path] : llvm::enumerate(paths)) {
    llvm::Expected<FileKind> kind = getFileKind(path);
    if (!kind)
      return kind.takeError();
    if (*kind != FileKind::Archive)
      return llvm::createStringError(
          path + ": several files are the archives of all ranks, which are "
                 ".pt2; a .mlir or .mlirbc is given alone");
    llvm::sys::fs::UniqueID id;
    // Reading reports files that do not exist.
    if (llvm::sys::fs::getUniqueID(path, id))
      continue;
    auto [place, isNew] = known.try_emplace(id, rank);
    if (!isNew)
      return llvm::createStringError(
          path + ": given twice, as the program of rank " +
          Twine(place->second) + " and of rank " + Twine(rank) +
          "; give one archive for each rank, in the order of ranks");
  }
  return llvm::Error::success();
}

/// Checks that the sidecars agree with the order of the programs.
static llvm::Error checkOrder(ArrayRef<LoadedProgram> programs) {
  std::map<int64_t, size_t> fileOfRank;
  for (auto [index, program] : llvm::enumerate(programs)) {
    std::optional<int64_t> stated = program.distributed.rank;
    if (!stated)
      continue;
    auto [place, isNew] = fileOfRank.try_emplace(*stated, index);
    if (!isNew)
      return llvm::createStringError(
          program.origin + ": its sidecar states rank " + Twine(*stated) +
          ", and so does that of " + programs[place->second].origin +
          "; give one archive for each rank, in the order of ranks");
  }
  for (auto [index, program] : llvm::enumerate(programs)) {
    std::optional<int64_t> stated = program.distributed.rank;
    if (!stated || *stated == static_cast<int64_t>(index))
      continue;
    // Report only the first mismatch, because it usually causes all later ones.
    if (fileOfRank.count(index) || fileOfRank.size() < programs.size()) {
      return llvm::createStringError(
          program.origin + ": given as the program of rank " + Twine(index) +
          ", but its sidecar states rank " + Twine(*stated) +
          "; give the archives in the order of ranks");
    }
    SmallVector<int64_t> missing;
    for (int64_t rank = 0; rank < fileOfRank.rbegin()->first; ++rank)
      if (!fileOfRank.count(rank))
        missing.push_back(rank);
    return llvm::createStringError(
        program.origin + ": its sidecar states rank " + Twine(*stated) +
        ", and the archive of " + listRanks(missing) +
        " is missing; give one archive for each rank, in the order of ranks");
  }
  return llvm::Error::success();
}

/// Programs that do not communicate run on as many ranks as there are files.
static void addWorld(MutableArrayRef<LoadedProgram> programs) {
  if (programs.size() == 1 ||
      !analysis::getGroups(programs.front().getModule()).empty())
    return;
  SmallVector<int64_t> ranks =
      llvm::to_vector(llvm::seq<int64_t>(0, programs.size()));
  for (LoadedProgram &program : programs) {
    ModuleOp module = program.getModule();
    Attribute group =
        tp::GroupAttr::get(module.getContext(), "0", ranks.size(), ranks);
    module->setAttr(tp::TPDialect::groupsAttrName,
                    Builder(module.getContext()).getArrayAttr(group));
  }
}

/// Checks that there is exactly one program for each rank of the groups.
static llvm::Error checkWorld(const LoadedProgram &first, size_t numPrograms) {
  ModuleOp module = first.getModule();
  SmallVector<tp::GroupAttr> groups = analysis::getGroups(module);
  if (llvm::any_of(
          groups, [](tp::GroupAttr group) { return !group.hasKnownMembers(); }))
    return llvm::Error::success();
  // If programs do not communicate, the files determine the ranks.
  if (groups.empty())
    return llvm::Error::success();
  SmallVector<int64_t> world = analysis::getWorld(module);
  SmallVector<int64_t> missing, unknown;
  for (int64_t rank : world)
    if (rank >= static_cast<int64_t>(numPrograms))
      missing.push_back(rank);
  for (size_t rank = 0; rank < numPrograms; ++rank)
    if (!llvm::is_contained(world, static_cast<int64_t>(rank)))
      unknown.push_back(rank);
  std::string given = "there are the archives of " +
                      std::to_string(numPrograms) +
                      (numPrograms == 1 ? " rank" : " ranks");
  if (!missing.empty())
    return llvm::createStringError(
        first.origin + ": its process groups have " + Twine(world.size()) +
        " ranks, and " + given + ": " + listRanks(missing) +
        (missing.size() == 1 ? " is" : " are") + " missing");
  if (!unknown.empty())
    return llvm::createStringError(
        first.origin + ": its process groups have " + Twine(world.size()) +
        " ranks, and " + given + ": " + listRanks(unknown) +
        (unknown.size() == 1 ? " is" : " are") + " in no group");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

llvm::Expected<LoadedProgram> compiler::readRankFiles(
    ArrayRef<std::string> paths, StringRef origin,
    const vocabulary::Vocabulary &vocabulary, const StatedFacts &stated,
    const archive::ContainerLimits &limits, MLIRContext &context) {
  if (stated.rank)
    return llvm::createStringError(
        "--rank=" + Twine(*stated.rank) +
        ": this option applies to a single program, but " + origin +
        " are the programs of all ranks, in the order of ranks");
  if (llvm::Error error = checkDistinct(paths))
    return std::move(error);
  std::vector<LoadedProgram> programs;
  StatedFacts ofRank = stated;
  ofRank.hasOtherPrograms = paths.size() > 1;
  for (const std::string &path : paths) {
    llvm::Expected<LoadedProgram> program =
        readProgramFile(path, vocabulary, ofRank, limits, context);
    if (!program)
      return program.takeError();
    programs.push_back(std::move(*program));
  }
  if (llvm::Error error = checkOrder(programs))
    return std::move(error);
  if (llvm::Error error = checkWorld(programs.front(), programs.size()))
    return std::move(error);
  if (llvm::Error error = checkConstantsOfRanks(programs))
    return std::move(error);
  addWorld(programs);
  for (auto [rank, program] : llvm::enumerate(programs))
    program.rank = rank;
  return mergePrograms(std::move(programs), origin);
}

llvm::Expected<LoadedProgram>
compiler::mergePrograms(std::vector<LoadedProgram> programs, StringRef origin) {
  if (llvm::Error error = mergeRanks(programs))
    return std::move(error);
  LoadedProgram merged;
  merged.origin = origin.str();
  merged.distributed = programs.front().distributed;
  merged.distributed.rank = std::nullopt;
  // The module shows them.
  merged.distributed.constantsOfRank.clear();
  merged.statesMore = programs.front().statesMore;
  merged.imported.module = std::move(programs.front().imported.module);
  // The programs of all ranks state it.
  merged.getModule()->removeAttr(tp::groupPremiseAttrName);
  merged.ranks = std::move(programs);
  return merged;
}

OwningOpRef<ModuleOp> compiler::getModuleOfRank(const LoadedProgram &program,
                                                size_t rank) {
  return getModuleOfRank(program, program.getModule(), rank);
}

OwningOpRef<ModuleOp> compiler::getModuleOfRank(const LoadedProgram &program,
                                                ModuleOp merged, size_t rank) {
  return getModuleOfRank(merged, program.ranks[rank].rank,
                         program.ranks[rank].ownNames);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static std::string toText(TypedAttr value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto number = dyn_cast<IntegerAttr>(value);
      number && number.getType().isInteger(1))
    os << (number.getValue().isZero() ? "false" : "true");
  else
    value.print(os, /*elideType=*/true);
  return text;
}

std::optional<std::string> compiler::describeConstants(tp::RankSelectOp op) {
  SmallVector<tp::ConstantOp> constants;
  for (Value value : op.getValues()) {
    constants.push_back(value.getDefiningOp<tp::ConstantOp>());
    if (!constants.back())
      return std::nullopt;
  }
  tp::GroupAttr group = op.getGroup();
  std::string text;
  constexpr size_t maxListed = 8;
  for (auto [position, constant] : llvm::enumerate(constants)) {
    if (position == maxListed)
      return text + " and " + std::to_string(constants.size() - position) +
             " more";
    SmallVector<int64_t> ranks;
    for (int64_t index = 0; index < group.getNumGroups(); ++index)
      ranks.push_back(group.getMembers(index)[position]);
    text += (position == 0 ? "" : ", ") + toText(constant.getValue()) + " on " +
            listRanks(ranks);
  }
  return text;
}
