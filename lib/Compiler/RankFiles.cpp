//===- RankFiles.cpp - folders with the archives of all ranks ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/WrittenProgram.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

namespace fs = llvm::sys::fs;

std::string compiler::getRankFileName(size_t rank) {
  return "rank" + std::to_string(rank) + ".pt2";
}

static std::string join(StringRef folder, const Twine &name) {
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name);
  return std::string(path);
}

static llvm::Error makeError(const Twine &path, const Twine &what,
                             std::error_code code) {
  return llvm::createStringError(path + ": " + what + ": " + code.message());
}

/// Returns the ranks whose archives are in a folder.
static llvm::Expected<std::set<uint64_t>> listRanks(StringRef folder) {
  std::set<uint64_t> ranks;
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; entry != end && !code;
       entry.increment(code)) {
    StringRef name = llvm::sys::path::filename(entry->path());
    uint64_t rank;
    StringRef rest = name;
    if (rest.consume_front("rank") && rest.consume_back(".pt2") &&
        !rest.getAsInteger(10, rank) && getRankFileName(rank) == name)
      ranks.insert(rank);
  }
  if (code)
    return makeError(folder, "cannot list the folder", code);
  return ranks;
}

llvm::Expected<std::vector<std::string>>
compiler::findRankFiles(StringRef folder) {
  llvm::Expected<std::set<uint64_t>> ranks = listRanks(folder);
  if (!ranks)
    return ranks.takeError();
  if (ranks->empty())
    return llvm::createStringError(
        folder + ": the folder has no rank0.pt2; a folder is read as the "
                 "archives of all ranks: rank0.pt2, rank1.pt2, ...");
  std::vector<std::string> paths;
  for (uint64_t rank : *ranks) {
    std::string name = getRankFileName(paths.size());
    if (rank != paths.size())
      return llvm::createStringError(folder + ": " + name +
                                     " is missing, and there is " +
                                     getRankFileName(rank));
    paths.push_back(join(folder, name));
  }
  return paths;
}

bool compiler::areOfRanks(llvm::ArrayRef<std::string> paths) {
  return paths.size() > 1 || fs::is_directory(paths.front());
}

llvm::Expected<LoadedProgram> compiler::readProgram(
    llvm::ArrayRef<std::string> paths, const vocabulary::Vocabulary &vocabulary,
    const StatedFacts &stated, const archive::ContainerLimits &limits,
    MLIRContext &context) {
  if (!areOfRanks(paths))
    return readProgramFile(paths.front(), vocabulary, stated, limits, context);
  std::string origin = paths.front();
  std::vector<std::string> files(paths);
  if (files.size() > 1) {
    origin += " and " + std::to_string(files.size() - 1) + " more";
  } else {
    llvm::Expected<std::vector<std::string>> found =
        findRankFiles(paths.front());
    if (!found)
      return found.takeError();
    files = std::move(*found);
  }
  return readRankFiles(files, origin, vocabulary, stated, limits, context);
}

std::optional<std::string>
compiler::describeConstantsOfRank(const LoadedProgram &program) {
  const std::vector<vocabulary::RankConstant> &constants =
      program.distributed.constantsOfRank;
  if (constants.empty())
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << program.origin << " holds constants of "
     << (program.distributed.rank
             ? "rank " + std::to_string(*program.distributed.rank)
             : "its rank")
     << " (";
  constexpr size_t maxListed = 2;
  for (const vocabulary::RankConstant &constant :
       llvm::ArrayRef(constants).take_front(maxListed))
    os << (&constant == constants.data() ? "" : "; ") << constant;
  if (constants.size() > maxListed)
    os << "; " << constants.size() - maxListed << " more";
  os << "), but here all ranks run it; give the archives of all ranks instead, "
        "or the folder that contains them";
  return text;
}

namespace {
/// Moves files into a folder. Unless all files are moved, the previous ones are
/// restored.
class FileExchange {
public:
  FileExchange(StringRef source, StringRef folder)
      : source(source), folder(folder) {}
  ~FileExchange() {
    for (auto &[from, to] : llvm::reverse(moves))
      (void)fs::rename(to, from);
  }

  llvm::Error add(const std::string &name) {
    std::string path = join(folder, name);
    if (fs::exists(path))
      if (llvm::Error error = move(path, join(source, name + ".before")))
        return error;
    return move(join(source, name), path);
  }
  void commit() { moves.clear(); }

private:
  llvm::Error move(std::string from, std::string to) {
    if (std::error_code code = fs::rename(from, to))
      return makeError(to, "cannot write", code);
    moves.emplace_back(std::move(from), std::move(to));
    return llvm::Error::success();
  }

  StringRef source, folder;
  std::vector<std::pair<std::string, std::string>> moves;
};
} // namespace

llvm::Expected<WriteSummary>
compiler::writeRankFiles(LoadedProgram &program, StringRef folder,
                         const vocabulary::Vocabulary &vocabulary,
                         llvm::ArrayRef<archive::ProgramEdits> edits) {
  EditsOfRanks own;
  if (edits.empty()) {
    llvm::Expected<EditsOfRanks> made = getEditsOfRanks(program, vocabulary);
    if (!made)
      return made.takeError();
    edits = own = std::move(*made);
  }
  bool isNew = !fs::exists(folder);
  if (isNew) {
    if (std::error_code code = fs::create_directory(folder))
      return makeError(folder, "cannot create the folder", code);
  } else if (!fs::is_directory(folder)) {
    return llvm::createStringError(
        folder + ": expected a folder for the archives of all ranks, but this "
                 "is a file");
  }
  llvm::Expected<std::set<uint64_t>> known = listRanks(folder);
  if (!known)
    return known.takeError();
  if (!known->empty() && *known->rbegin() >= program.ranks.size())
    return llvm::createStringError(
        folder + ": the folder contains " + getRankFileName(*known->rbegin()) +
        ", but the program has only " + Twine(program.ranks.size()) +
        " ranks; give another folder");
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    if (std::string path = join(folder, getRankFileName(rank));
        fs::is_directory(path))
      return llvm::createStringError(path +
                                     ": cannot write the archive of rank " +
                                     Twine(rank) + ": this is a folder");
  // Stage the files in the same file system, so that they can be moved.
  SmallString<128> stage;
  fs::createUniquePath(join(folder, ".commute-%%%%%%%%"), stage,
                       /*MakeAbsolute=*/false);
  llvm::scope_exit cleanUp([&] {
    (void)fs::remove_directories(stage);
    // Fails if the folder contains the archives, as intended.
    if (isNew)
      (void)fs::remove(folder);
  });
  if (std::error_code code = fs::create_directory(stage))
    return makeError(folder, "cannot write into the folder", code);
  WriteSummary summary;
  summary.isUnchanged = true;
  for (auto [rank, own] : llvm::enumerate(program.ranks)) {
    // The sidecar states the placements that are resolved in the module.
    if (own.statesMore)
      own.imported.module = getModuleOfRank(program, rank);
    llvm::Expected<WriteSummary> written = writeProgramFile(
        own, join(stage, getRankFileName(rank)), vocabulary, &edits[rank]);
    own.imported.module = {};
    if (!written)
      return written.takeError();
    summary.numNodes = written->numNodes;
    summary.isUnchanged &= written->isUnchanged;
  }
  FileExchange exchange(stage, folder);
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    if (llvm::Error error = exchange.add(getRankFileName(rank)))
      return std::move(error);
  exchange.commit();
  return summary;
}
