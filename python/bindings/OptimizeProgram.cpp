//===- OptimizeProgram.cpp - optimization in memory -----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OptimizeProgram.h"

#include "LiveEdits.h"
#include "ProgramState.h"

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Compiler/Optimization.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/UnstatedGain.h"
#include "commute/Compiler/VerificationReport.h"
#include "commute/Compiler/WrittenProgram.h"
#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Transforms/PassTraits.h"
#include "commute/Vocabulary/GroupCompletion.h"
#include "commute/Vocabulary/GroupNames.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <atomic>

using namespace commute;
using namespace commute::compiler;
using namespace commute::python;

std::string python::getReproducerPath() {
  llvm::SmallString<128> path;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  static std::atomic<unsigned> counter = 0;
  llvm::sys::path::append(
      path, "commute-" + std::to_string(llvm::sys::Process::getProcessId()) +
                "-" + std::to_string(++counter) + ".reproducer.mlir");
  return std::string(path);
}

static OptimizationOptions getOptions(const OptimizeSettings &settings,
                                      Policy policy) {
  OptimizationOptions options;
  options.passes = settings.passes;
  options.settings = {policy, settings.target, settings.exactRounding,
                      /*isForPyTorch=*/true, settings.postponed};
  options.verifies = settings.verify;
  options.proof.maxSeconds = settings.maxSeconds;
  if (settings.maxBytes >= 0)
    options.proof.maxBytes = settings.maxBytes;
  options.getReproducer = [](unsigned) { return getReproducerPath(); };
  return options;
}

/// Returns why a changed graph is not returned to the caller, or an empty
/// string if it is.
static std::string getRefusal(const Optimization &optimization) {
  using Outcome = Optimization::Outcome;
  constexpr llvm::StringLiteral start = "the graph is unchanged: ";
  switch (optimization.outcome) {
  case Outcome::Unchanged:
  case Outcome::Changed:
  case Outcome::Different:
  case Outcome::ReadsEarly:
    return "";
  case Outcome::NeedsGroups:
  case Outcome::CannotBeVerified:
    return (start + "the result could not be verified: " + optimization.reason)
        .str();
  case Outcome::NotProven:
    return (start + "the result is not proven: " +
            *optimization.verification->notProven)
        .str();
  }
  llvm_unreachable("unknown outcome");
}

/// Returns the vocabulary of all programs that state none of their own.
static const vocabulary::Vocabulary &getBuiltInVocabulary() {
  static const vocabulary::Vocabulary vocabulary;
  return vocabulary;
}

/// Returns false for a program without collectives if all passes need some and
/// nothing is stated that must be checked. Most graphs of a model on one device
/// are such programs.
static bool canChange(const archive::Program &program,
                      const OptimizationOptions &options,
                      llvm::StringRef context) {
  if (vocabulary::namesGroups(program.graph, getBuiltInVocabulary()))
    return true;
  llvm::Expected<std::vector<PassStep>> steps =
      planPipeline(options.passes, options.settings);
  llvm::Expected<vocabulary::DistributedContext> stated =
      context.empty() ? vocabulary::DistributedContext()
                      : vocabulary::parseSidecar(context, "context");
  // Errors are reported where the program is read.
  bool isUnknown = !steps || !stated;
  if (!steps)
    llvm::consumeError(steps.takeError());
  if (!stated)
    llvm::consumeError(stated.takeError());
  return isUnknown ||
         !llvm::all_of(*steps,
                       [](const PassStep &step) {
                         return findPassTraits(step.name)->needsCollectives;
                       }) ||
         vocabulary::renderSidecar(*stated) !=
             vocabulary::renderSidecar(vocabulary::DistributedContext());
}

std::optional<std::vector<python::GroupRanks>>
python::completeGroups(const std::vector<GroupRanks> &groups,
                       std::optional<int64_t> rank) {
  if (!vocabulary::lacksOtherGroups(groups))
    return groups;
  if (!rank)
    rank = vocabulary::findCommonRank(groups);
  if (!rank)
    return std::nullopt;
  return vocabulary::completeGroups(groups, *rank);
}

std::string python::getImpliedGroup(const std::string &target) {
  const vocabulary::OperatorAlias *alias =
      getBuiltInVocabulary().findAlias(target);
  if (!alias)
    return "";
  auto group = alias->constants.find("group_name");
  return group == alias->constants.end() ? "" : group->second.text.str();
}

namespace {
/// Everything that exists while a program is optimized.
class Session {
public:
  using Status = OptimizedProgram::Status;

  /// Runs without Python's global lock.
  void run(std::unique_ptr<archive::Program> program,
           const OptimizeSettings &settings);

  Status getStatus() const { return status; }
  const std::string &getMessage() const { return message; }
  /// The following require Status::Success, and Python's global lock.
  Object describeEdits() const;
  Object describeRemarks() const;
  const std::string &getVerification() const { return verification; }
  const std::string &getDifference() const { return difference; }
  const std::optional<StatementGain> &getGain() const { return gain; }

private:
  /// Reads the program, and those of other ranks, as one. Returns false after
  /// an error, and if they cannot be merged.
  bool read(std::unique_ptr<archive::Program> program,
            const OptimizeSettings &settings,
            const vocabulary::Vocabulary &vocabulary);
  /// The program whose nodes are edited: that of this process.
  LoadedProgram &getOwn() {
    return loaded->ranks.empty() ? *loaded : loaded->ranks[ownIndex];
  }
  const LoadedProgram &getOwn() const {
    return const_cast<Session *>(this)->getOwn();
  }
  void fail(Status failed, llvm::Error error) {
    status = failed;
    message = llvm::toString(std::move(error));
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::optional<vocabulary::Vocabulary> ownVocabulary;
  report::RemarkCollector remarks;
  std::optional<LoadedProgram> loaded;
  /// The index of this process's program among those of all ranks.
  size_t ownIndex = 0;
  std::optional<archive::ProgramEdits> edits;
  std::string verification;
  std::string difference;
  std::optional<StatementGain> gain;
  Status status = Status::Success;
  std::string message;
};
} // namespace

bool Session::read(std::unique_ptr<archive::Program> program,
                   const OptimizeSettings &settings,
                   const vocabulary::Vocabulary &vocabulary) {
  auto refuse = [&](llvm::Error error) {
    fail(Status::BadInput, std::move(error));
    return false;
  };
  ProgramContext known{settings.context, settings.hasOtherGroups,
                       /*isOfOneRank=*/true,
                       /*hasOtherPrograms=*/!settings.otherRanks.empty()};
  llvm::Expected<LoadedProgram> own =
      readProgram(std::move(program), known, vocabulary, context);
  if (!own)
    return refuse(own.takeError());
  if (settings.otherRanks.empty()) {
    loaded = std::move(*own);
    return true;
  }
  own->rank = settings.rank;
  std::vector<LoadedProgram> programs;
  for (const ProgramOfRank &other : settings.otherRanks) {
    llvm::Expected<std::unique_ptr<archive::Program>> parsed =
        archive::parseProgram(other.text, "rank " + std::to_string(other.rank));
    if (!parsed)
      return refuse(parsed.takeError());
    vocabulary::renameGroups(**parsed, settings.groupNames);
    known.sidecar = other.context;
    llvm::Expected<LoadedProgram> read =
        readProgram(std::move(*parsed), known, vocabulary, context);
    if (!read)
      return refuse(read.takeError());
    read->rank = other.rank;
    programs.push_back(std::move(*read));
  }
  own->origin = "rank " + std::to_string(own->rank);
  auto place = llvm::partition_point(programs, [&](const LoadedProgram &other) {
    return other.rank < settings.rank;
  });
  ownIndex = place - programs.begin();
  programs.insert(place, std::move(*own));
  llvm::Expected<LoadedProgram> merged =
      mergePrograms(std::move(programs), "the programs of all ranks");
  if (!merged) {
    difference = llvm::toString(merged.takeError());
    return false;
  }
  loaded = std::move(*merged);
  return true;
}

void Session::run(std::unique_ptr<archive::Program> program,
                  const OptimizeSettings &settings) {
  using Outcome = Optimization::Outcome;
  llvm::Expected<Policy> policy = parsePolicy(settings.policy);
  if (!policy)
    return fail(Status::BadInput, policy.takeError());
  OptimizationOptions options = getOptions(settings, *policy);
  if (llvm::Error error = checkOptions(options))
    return fail(Status::BadInput, std::move(error));
  if (llvm::Error error = archive::checkNames(*program))
    return fail(Status::BadInput, std::move(error));
  const vocabulary::Vocabulary *vocabulary = &getBuiltInVocabulary();
  if (!settings.vocabulary.empty()) {
    vocabulary = &ownVocabulary.emplace();
    if (llvm::Error error =
            ownVocabulary->addUserVocabulary(settings.vocabulary, "vocabulary"))
      return fail(Status::BadInput, std::move(error));
  }
  // Remarks say which operators of a vocabulary file no node calls.
  if (!ownVocabulary && !canChange(*program, options, settings.context))
    return;
  if (failed(remarks.attach(context)))
    return fail(Status::InternalError,
                llvm::createStringError("remarks cannot be collected"));
  if (!read(std::move(program), settings, *vocabulary))
    return;
  if (!settings.assumesNormWeights)
    loaded->getModule()->setAttr(tp::noPlacementDefaultsAttrName,
                                 mlir::UnitAttr::get(&context));
  if (settings.ranksAreUnknown)
    loaded->getModule()->setAttr(tp::unknownRanksAttrName,
                                 mlir::UnitAttr::get(&context));
  loaded->getModule()->setAttr(tp::elementTypeListsAttrName,
                               mlir::UnitAttr::get(&context));
  // The proof is that of the edited graph.
  EditsOfRanks written;
  options.readWritten = [&] {
    return readWritten(*loaded, *vocabulary, written);
  };
  llvm::Expected<Optimization> optimization =
      optimize(loaded->getModule(), options, remarks);
  if (!optimization)
    return fail(Status::InternalError, optimization.takeError());
  if (std::optional<UnstatedGain> found =
          findUnstatedGain(*optimization->original, loaded->getModule(),
                           settings.unstatedInputs, options, remarks))
    gain = {found->now, found->stated, std::move(found->inputs)};
  if (optimization->outcome == Outcome::Different)
    return fail(Status::InternalError,
                llvm::createStringError(
                    "the optimized graph is not equivalent: " +
                    optimization->verification->differences.front().message));
  bool isUnprovenButAllowed =
      optimization->outcome == Outcome::NotProven && settings.allowUnproven;
  if (optimization->outcome == Outcome::Changed || isUnprovenButAllowed) {
    if (written.empty()) {
      llvm::Expected<EditsOfRanks> made = getEditsOfRanks(*loaded, *vocabulary);
      if (!made)
        return fail(Status::InternalError, made.takeError());
      written = std::move(*made);
    }
    archive::ProgramEdits &own = written[ownIndex];
    if (!own.changesNothing(*getOwn().getGraph()))
      edits = std::move(own);
  }
  if (optimization->verification)
    llvm::raw_string_ostream(verification)
        << llvm::json::Value(toJson(*optimization->verification));
  if (std::string refusal = getRefusal(*optimization);
      !refusal.empty() && !isUnprovenButAllowed) {
    report::RemarkEntry entry;
    entry.verdict = report::Verdict::Refused;
    entry.pass = "verify";
    entry.name = "NotVerified";
    entry.message = refusal;
    remarks.add(std::move(entry));
  }
}

Object Session::describeEdits() const {
  return edits ? python::describeEdits(*edits, *getOwn().getGraph())
               : Object::borrow(Py_None);
}

Object Session::describeRemarks() const {
  llvm::ArrayRef<report::RemarkEntry> entries = remarks.getEntries();
  Object result = Object::steal(PyList_New(entries.size()));
  for (size_t i = 0; result && i < entries.size(); ++i) {
    const report::RemarkEntry &entry = entries[i];
    llvm::StringRef verdict = report::describe(entry.verdict);
    PyObject *tuple = Py_BuildValue(
        "(s#s#s#s#s#)", verdict.data(), Py_ssize_t(verdict.size()),
        entry.pass.data(), Py_ssize_t(entry.pass.size()), entry.node.data(),
        Py_ssize_t(entry.node.size()), entry.message.data(),
        Py_ssize_t(entry.message.size()), entry.suggestion.data(),
        Py_ssize_t(entry.suggestion.size()));
    if (!tuple)
      return {};
    PyList_SET_ITEM(result.get(), i, tuple);
  }
  return result;
}

OptimizedProgram python::optimizeProgram(LiveProgram &program,
                                         const OptimizeSettings &settings) {
  using Status = OptimizedProgram::Status;
  OptimizedProgram result;
  std::unique_ptr<archive::Program> taken = program.takeProgram();
  if (!taken) {
    result.status = Status::BadInput;
    result.message = LiveProgram::takenMessage;
    return result;
  }
  PyThreadState *state = PyEval_SaveThread();
  auto session = std::make_unique<Session>();
  session->run(std::move(taken), settings);
  PyEval_RestoreThread(state);
  result.status = session->getStatus();
  result.message = session->getMessage();
  if (result.status != Status::Success)
    return result;
  result.edits = session->describeEdits();
  result.remarks = session->describeRemarks();
  result.verification = session->getVerification();
  result.difference = session->getDifference();
  result.gain = session->getGain();
  if (!result.edits || !result.remarks)
    result.status = Status::PythonError;
  return result;
}

std::string python::checkSettings(const OptimizeSettings &settings) {
  llvm::Expected<Policy> policy = parsePolicy(settings.policy);
  if (!policy)
    return llvm::toString(policy.takeError());
  llvm::Error error = checkOptions(getOptions(settings, *policy));
  return error ? llvm::toString(std::move(error)) : "";
}
