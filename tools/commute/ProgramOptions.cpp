//===- ProgramOptions.cpp - options of all commands -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramOptions.h"

#include "CommandHelp.h"
#include "Progress.h"
#include "SafeOutput.h"
#include "commute/Archive/InputFile.h"
#include "commute/Compiler/RankPrograms.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

ProgramOptions::ProgramOptions(cl::SubCommand &command)
    : groups("group", cl::sub(command), cl::cat(getProgramCategory()),
             cl::value_desc("NAME=RANKS"),
             cl::desc("Ranks of a process group, in order: 0=0-3; for a mesh "
                      "axis, all its groups: tp=0-3/4-7")),
      rank("rank", cl::sub(command), cl::cat(getProgramCategory()),
           cl::value_desc("R"), cl::init(-1),
           cl::desc("Rank that the graph was captured on; the result may then "
                    "be valid for this rank only")),
      placements("input-placement", cl::sub(command),
                 cl::cat(getProgramCategory()),
                 cl::value_desc("REGEX=PLACEMENT[@GROUP]"),
                 cl::desc("How inputs of matching name differ between ranks: "
                          "replicated, shard(DIM), partial(sum), varying")),
      assumptions(
          "assume", cl::sub(command), cl::cat(getProgramCategory()),
          cl::value_desc("EXPR"),
          cl::desc("Assumption about symbolic sizes, such as 's0 % 8 == 0'")),
      vocabularies(
          "vocabulary", cl::sub(command), cl::cat(getProgramCategory()),
          cl::value_desc("F.json"),
          cl::desc(
              "File that defines custom operators in terms of known ones")),
      maxInflation("max-inflation", cl::sub(command),
                   cl::cat(getProgramCategory()), cl::value_desc("FACTOR"),
                   cl::init(archive::ContainerLimits().maxInflation),
                   cl::desc("Largest factor by which a deflated record of an "
                            "archive may grow (default: 200)")),
      maxInflatedBytes("max-inflated-bytes", cl::sub(command),
                       cl::cat(getProgramCategory()), cl::value_desc("N"),
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
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
        archive::readInputFile(path, vocabulary::largestVocabularyFile);
    if (!buffer)
      return buffer.takeError();
    if (llvm::Error error =
            result->addUserVocabulary((*buffer)->getBuffer(), path))
      return std::move(error);
  }
  return result;
}

llvm::Error tool::checkOverwrite(llvm::StringRef option, llvm::StringRef output,
                                 llvm::ArrayRef<std::string> inputs,
                                 std::optional<bool> force) {
  if (output.empty() || output == "-" || force.value_or(false))
    return llvm::Error::success();
  for (llvm::StringRef input : inputs) {
    auto isOutput = [&](llvm::StringRef path) {
      bool isSame = false;
      return !path.empty() &&
             !llvm::sys::fs::equivalent(path, output, isSame) && isSame;
    };
    // The archives of all ranks are written into a folder.
    bool isSame =
        isOutput(input) ||
        (inputs.size() > 1 && isOutput(llvm::sys::path::parent_path(input)));
    if (isSame)
      return llvm::createStringError(
          option + (option.starts_with("--") ? "=" : " ") + output +
          ": this would overwrite the input" +
          (force ? "; --force allows it" : ""));
  }
  return llvm::Error::success();
}

llvm::Expected<compiler::LoadedProgram>
ProgramOptions::read(llvm::ArrayRef<std::string> paths,
                     const vocabulary::Vocabulary &vocabulary,
                     mlir::MLIRContext &context) const {
  Progress stage("reading " + paths.front());
  return compiler::readProgram(paths, vocabulary, getFacts(),
                               getArchiveLimits(), context);
}

llvm::Expected<compiler::LoadedProgram>
ProgramOptions::read(llvm::ArrayRef<std::string> paths,
                     mlir::MLIRContext &context) const {
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>> vocabulary =
      loadVocabulary();
  if (!vocabulary)
    return vocabulary.takeError();
  return read(paths, **vocabulary, context);
}

llvm::Expected<std::vector<compiler::LoadedProgram>> ProgramOptions::readEach(
    llvm::ArrayRef<std::string> paths,
    const std::map<std::string, vocabulary::GroupRanks> &knownGroups,
    const vocabulary::Vocabulary &vocabulary,
    mlir::MLIRContext &context) const {
  std::vector<std::string> files(paths);
  if (files.size() == 1 && llvm::sys::fs::is_directory(files.front())) {
    llvm::Expected<std::vector<std::string>> found =
        compiler::findRankFiles(files.front());
    if (!found)
      return found.takeError();
    files = std::move(*found);
  }
  compiler::StatedFacts facts = getFacts();
  facts.knownGroups = knownGroups;
  if (llvm::Error error = facts.moveGroupsToKnown())
    return std::move(error);
  std::vector<compiler::LoadedProgram> programs;
  for (const std::string &file : files) {
    llvm::Expected<compiler::LoadedProgram> program = compiler::readProgramFile(
        file, vocabulary, facts, getArchiveLimits(), context);
    if (!program)
      return program.takeError();
    std::optional<int64_t> stated = program->distributed.rank;
    auto given = static_cast<int64_t>(programs.size());
    if (files.size() > 1 && stated && *stated != given)
      return llvm::createStringError(
          file + ": given as the program of rank " + llvm::Twine(given) +
          ", but its sidecar states rank " + llvm::Twine(*stated) +
          "; give the archives in the order of ranks");
    programs.push_back(std::move(*program));
  }
  return programs;
}

llvm::Expected<compiler::LoadedProgram>
ProgramOptions::readReference(llvm::StringRef path,
                              const vocabulary::Vocabulary &vocabulary,
                              mlir::MLIRContext &context) const {
  compiler::StatedFacts facts;
  facts.assumptions.assign(assumptions.begin(), assumptions.end());
  return compiler::readProgramFile(path, vocabulary, facts, getArchiveLimits(),
                                   context);
}

void tool::warnAboutConstants(const compiler::LoadedProgram &program) {
  if (std::optional<std::string> warning =
          compiler::describeConstantsOfRank(program))
    warningErrs() << "commute: warning: " << *warning << '\n';
}
