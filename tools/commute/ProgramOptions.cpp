//===- ProgramOptions.cpp - options of all commands -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramOptions.h"

#include "commute/Archive/InputFile.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

ProgramOptions::ProgramOptions(cl::SubCommand &command)
    : groups("group", cl::sub(command), cl::value_desc("NAME=RANKS"),
             cl::desc("Ranks of a process group, in order: 0=0-3; for a mesh "
                      "axis, all its groups: tp=0-3/4-7")),
      rank("rank", cl::sub(command), cl::value_desc("R"), cl::init(-1),
           cl::desc("Rank that the graph was captured on; the result may then "
                    "be valid for this rank only")),
      placements("input-placement", cl::sub(command),
                 cl::value_desc("REGEX=PLACEMENT[@GROUP]"),
                 cl::desc("How inputs of matching name differ between ranks: "
                          "replicated, shard(DIM), partial(sum), varying")),
      assumptions(
          "assume", cl::sub(command), cl::value_desc("EXPR"),
          cl::desc("Assumption about symbolic sizes, such as 's0 % 8 == 0'")),
      vocabularies(
          "vocabulary", cl::sub(command), cl::value_desc("F.json"),
          cl::desc("File that describes your own operators by known ones")),
      maxInflation("max-inflation", cl::sub(command), cl::value_desc("FACTOR"),
                   cl::init(archive::ContainerLimits().maxInflation),
                   cl::desc("Largest factor by which a deflated record of an "
                            "archive may grow (default: 200)")),
      maxInflatedBytes("max-inflated-bytes", cl::sub(command),
                       cl::value_desc("N"),
                       cl::init(archive::ContainerLimits().maxInflatedBytes),
                       cl::desc("Largest total size of an archive's deflated "
                                "records once inflated (default: 16 GiB)")) {}

archive::ContainerLimits ProgramOptions::getArchiveLimits() const {
  archive::ContainerLimits limits;
  limits.maxInflation = std::max<uint64_t>(maxInflation, 1);
  limits.maxInflatedBytes = maxInflatedBytes;
  return limits;
}

compiler::StatedFacts ProgramOptions::getFacts() const {
  compiler::StatedFacts facts;
  facts.groups.assign(groups.begin(), groups.end());
  facts.placements.assign(placements.begin(), placements.end());
  facts.assumptions.assign(assumptions.begin(), assumptions.end());
  if (rank.getNumOccurrences() > 0)
    facts.rank = rank;
  return facts;
}

llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>>
ProgramOptions::loadVocabulary() const {
  auto result = std::make_unique<vocabulary::Vocabulary>();
  for (const std::string &path : vocabularies) {
    // A vocabulary has a few kilobytes; reject anything much larger.
    constexpr uint64_t largestFile = 16 << 20;
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
        archive::readInputFile(path, largestFile);
    if (!buffer)
      return buffer.takeError();
    if (llvm::Error error =
            result->addUserVocabulary((*buffer)->getBuffer(), path))
      return std::move(error);
  }
  return result;
}

llvm::Expected<compiler::LoadedProgram>
ProgramOptions::read(llvm::StringRef path,
                     const vocabulary::Vocabulary &vocabulary,
                     mlir::MLIRContext &context) const {
  return compiler::readProgramFile(path, vocabulary, getFacts(),
                                   getArchiveLimits(), context);
}

llvm::Expected<compiler::LoadedProgram>
ProgramOptions::read(llvm::StringRef path, mlir::MLIRContext &context) const {
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>> vocabulary =
      loadVocabulary();
  if (!vocabulary)
    return vocabulary.takeError();
  return read(path, **vocabulary, context);
}
