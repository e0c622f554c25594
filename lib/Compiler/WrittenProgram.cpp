//===- WrittenProgram.cpp - what a reader makes of a result -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/WrittenProgram.h"

#include "MergedRanks.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/TPDialect.h"

#include <map>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

bool compiler::hasGraphs(const LoadedProgram &program) {
  return program.getGraph() || !program.ranks.empty();
}

llvm::Expected<EditsOfRanks>
compiler::getEditsOfRanks(LoadedProgram &program,
                          const vocabulary::Vocabulary &vocabulary) {
  EditsOfRanks result;
  if (program.ranks.empty()) {
    llvm::Expected<archive::ProgramEdits> edits = getEdits(program, vocabulary);
    if (!edits)
      return edits.takeError();
    result.push_back(std::move(*edits));
    return result;
  }
  for (auto [rank, own] : llvm::enumerate(program.ranks)) {
    own.imported.module = getModuleOfRank(program, rank);
    llvm::Expected<archive::ProgramEdits> edits = getEdits(own, vocabulary);
    own.imported.module = {};
    if (!edits)
      return edits.takeError();
    result.push_back(std::move(*edits));
  }
  return result;
}

/// Returns the edited graph of one program as a reader gets it: for archives,
/// from the very text that is written.
static llvm::Expected<std::unique_ptr<archive::Program>>
edit(const LoadedProgram &program, const archive::ProgramEdits &edits) {
  const archive::Program &graph = *program.getGraph();
  if (program.archive)
    return archive::parseProgram(edits.apply(graph), graph.origin);
  std::unique_ptr<archive::Program> edited = edits.applyInMemory(graph);
  if (llvm::Error error = archive::checkNames(*edited))
    return std::move(error);
  return std::move(edited);
}

using KnownGroups = std::map<std::string, vocabulary::GroupRanks>;

/// Returns the members of the groups of a module, which a graph need not state
/// again: a fused operator has no argument with the size of its group.
static KnownGroups getKnownGroups(ModuleOp module) {
  KnownGroups groups;
  module.walk([&](tp::GroupOpInterface op) {
    tp::GroupAttr group = op.getRankGroup();
    if (group.getName().empty() || !group.hasKnownMembers())
      return;
    auto [known, isNew] = groups.try_emplace(group.getName().str());
    for (int64_t index = 0; isNew && index < group.getNumGroups(); ++index)
      known->second.push_back(group.getMembers(index).vec());
  });
  return groups;
}

/// Returns the names of the results of a module's opaque calls.
static llvm::DenseSet<StringRef> getOpaqueNames(ModuleOp module) {
  llvm::DenseSet<StringRef> opaque;
  module.walk([&](tp::CallOp call) {
    auto names = call->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
    if (!names)
      return;
    for (StringAttr name : names.getAsRange<StringAttr>())
      opaque.insert(name.getValue());
  });
  return opaque;
}

namespace {
/// Reads the edited graphs of the ranks of one module.
class EditedGraphReader {
public:
  EditedGraphReader(ModuleOp merged, const vocabulary::Vocabulary &vocabulary)
      : merged(merged), vocabulary(vocabulary), groups(getKnownGroups(merged)) {
    nodes.opaque = getOpaqueNames(merged);
  }

  llvm::Expected<LoadedProgram> read(const LoadedProgram &program,
                                     const archive::ProgramEdits &edits);

private:
  /// The module of all ranks.
  ModuleOp merged;
  const vocabulary::Vocabulary &vocabulary;
  KnownGroups groups;
  vocabulary::EditedNodes nodes;
};
} // namespace

llvm::Expected<LoadedProgram>
EditedGraphReader::read(const LoadedProgram &program,
                        const archive::ProgramEdits &edits) {
  llvm::Expected<std::unique_ptr<archive::Program>> edited =
      edit(program, edits);
  if (!edited)
    return edited.takeError();
  LoadedProgram result;
  result.origin = program.origin;
  result.distributed = program.distributed;
  result.rank = program.rank;
  result.distributed.groups.insert(groups.begin(), groups.end());
  result.inMemory = std::move(*edited);
  nodes.added.clear();
  for (const archive::ProgramEdits::NodeItem &item : edits.getNodes())
    if (!item.source)
      for (const archive::Argument &output : item.added.outputs)
        output.forEachValue([&](const archive::Argument &value) {
          nodes.added.insert(value.text);
        });
  llvm::Expected<vocabulary::ImportedProgram> imported =
      vocabulary::importProgram(*result.inMemory, vocabulary,
                                result.distributed, merged.getContext(), nodes);
  if (!imported)
    return imported.takeError();
  result.imported = std::move(*imported);
  // Programs that do not communicate run on the ranks that have one.
  StringRef stated = tp::TPDialect::groupsAttrName;
  if (!result.getModule()->hasAttr(stated) && merged->hasAttr(stated))
    result.getModule()->setAttr(stated, merged->getAttr(stated));
  return result;
}

/// Returns true if a slice takes the part that an op selects on a rank.
static bool takesPartOfRank(tp::SliceOp slice, tp::RankSliceOp part,
                            int64_t rank) {
  std::optional<int64_t> position = part.getGroup().getPosition(rank);
  auto type = cast<RankedTensorType>(part.getResult().getType());
  int64_t axis = part.getSliceAxis();
  if (!position || static_cast<int64_t>(slice.getDim()) != axis ||
      slice.getStep() != 1 ||
      slice.getInput().getType() != part.getInput().getType() ||
      slice.getResult().getType() != type)
    return false;
  int64_t start = slice.getStart();
  if (slice.getBlocks())
    return start == *position;
  return !type.isDynamicDim(axis) && start == *position * type.getDimSize(axis);
}

/// In the module of a graph that was written for one rank, replaces the slices
/// that stand for parts of ranks by these, after a comparison on that rank: on
/// the others, the graph is written with other numbers.
static llvm::Error restorePartsOfRanks(ModuleOp written, ModuleOp module) {
  llvm::StringMap<tp::RankSliceOp> parts;
  module.walk([&](tp::RankSliceOp part) {
    if (auto name = part->getAttrOfType<StringAttr>(tp::writtenNameAttrName))
      parts.try_emplace(name, part);
  });
  if (parts.empty())
    return llvm::Error::success();
  auto rank = module->getAttrOfType<IntegerAttr>(tp::TPDialect::rankAttrName);
  std::string unread;
  size_t numRestored = 0;
  written.walk([&](Operation *op) {
    if (op->getNumResults() != 1)
      return;
    auto part = parts.find(vocabulary::getGraphName(op->getResult(0)));
    if (part == parts.end())
      return;
    auto slice = dyn_cast<tp::SliceOp>(op);
    if (!slice || !rank ||
        !takesPartOfRank(slice, part->second, rank.getInt())) {
      unread = part->first().str();
      return;
    }
    ++numRestored;
    OpBuilder builder(slice);
    auto restored = tp::RankSliceOp::create(
        builder, slice.getLoc(), slice.getResult().getType(), slice.getInput(),
        part->second.getSliceAxis(), part->second.getGroup());
    slice.getResult().replaceAllUsesWith(restored.getResult());
    slice.erase();
  });
  if (unread.empty() && numRestored == parts.size())
    return llvm::Error::success();
  if (unread.empty())
    unread = "a part of this rank";
  return llvm::createStringError("'" + unread +
                                 "' is not read as the part of a value that "
                                 "belongs to this rank");
}

static llvm::Expected<OwningOpRef<ModuleOp>>
readEditedGraphs(const LoadedProgram &program,
                 ArrayRef<archive::ProgramEdits> edits,
                 const vocabulary::Vocabulary &vocabulary) {
  ModuleOp merged = program.getModule();
  EditedGraphReader reader(merged, vocabulary);
  if (program.ranks.empty()) {
    llvm::Expected<LoadedProgram> read = reader.read(program, edits.front());
    if (!read)
      return read.takeError();
    if (llvm::Error error = restorePartsOfRanks(read->getModule(), merged))
      return std::move(error);
    return std::move(read->imported.module);
  }
  std::vector<LoadedProgram> ranks;
  for (auto [own, ownEdits] : llvm::zip_equal(program.ranks, edits)) {
    llvm::Expected<LoadedProgram> read = reader.read(own, ownEdits);
    if (!read)
      return read.takeError();
    ranks.push_back(std::move(*read));
  }
  if (llvm::Error error = mergeRanks(ranks))
    return std::move(error);
  return std::move(ranks.front().imported.module);
}

llvm::Expected<OwningOpRef<ModuleOp>>
compiler::readWritten(LoadedProgram &program,
                      const vocabulary::Vocabulary &vocabulary,
                      EditsOfRanks &edits) {
  llvm::Expected<EditsOfRanks> made = getEditsOfRanks(program, vocabulary);
  if (!made)
    return made.takeError();
  edits = std::move(*made);
  llvm::Expected<OwningOpRef<ModuleOp>> result =
      readEditedGraphs(program, edits, vocabulary);
  if (!result)
    return llvm::createStringError(
        "internal error: the result is not a legal program: " +
        llvm::toString(result.takeError()));
  // What is known of the program besides the graph.
  for (NamedAttribute fact : program.getModule()->getDiscardableAttrs())
    if (!(**result)->hasAttr(fact.getName()))
      (**result)->setAttr(fact.getName(), fact.getValue());
  // Edits keep the inputs, and the stored constants among them.
  func::FuncOp before = analysis::getMain(program.getModule());
  func::FuncOp after = analysis::getMain(**result);
  for (unsigned index = 0; index < before.getNumArguments(); ++index)
    if (Attribute value =
            before.getArgAttr(index, tp::TPDialect::valueAttrName))
      after.setArgAttr(index, tp::TPDialect::valueAttrName, value);
  return result;
}
