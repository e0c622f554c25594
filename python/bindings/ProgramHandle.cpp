//===- ProgramHandle.cpp - a program held for Python ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramHandle.h"

#include "LiveProgram.h"
#include "ProgramState.h"

#include "commute/Compiler/Explanation.h"
#include "commute/Compiler/NodePrices.h"
#include "commute/Compiler/Optimization.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/StepEstimate.h"
#include "commute/Compiler/StoredConstants.h"
#include "commute/Compiler/VerificationReport.h"
#include "commute/Compiler/WrittenProgram.h"
#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::python;

Failure python::toFailure(llvm::Error error) {
  return {llvm::toString(std::move(error)), /*isInternal=*/false};
}

static std::string toText(const llvm::json::Value &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

ProgramHandle::State::~State() {
  // Another version of the program may be in use.
  std::lock_guard<std::mutex> lock(source->mutex);
  module = {};
}

ProgramHandle::Access::Access(const ProgramHandle &handle)
    : state(*handle.state), lock(state.source->mutex) {
  std::swap(state.module, state.source->file.imported.module);
}

ProgramHandle::Access::Access(const ProgramHandle &handle, std::adopt_lock_t)
    : state(*handle.state), lock(state.source->mutex, std::defer_lock) {
  std::swap(state.module, state.source->file.imported.module);
}

ProgramHandle::Access::~Access() {
  std::swap(state.module, state.source->file.imported.module);
}

ProgramHandle::ProgramHandle(std::unique_ptr<State> state)
    : state(std::move(state)) {}
ProgramHandle::ProgramHandle(ProgramHandle &&other) noexcept = default;
ProgramHandle::~ProgramHandle() = default;

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

using Reader = llvm::function_ref<llvm::Expected<LoadedProgram>(
    const vocabulary::Vocabulary &, mlir::MLIRContext &)>;

/// Reads a program into a new source.
static Fallible<std::shared_ptr<ProgramSource>>
readSource(llvm::ArrayRef<std::pair<std::string, std::string>> vocabularies,
           Reader read) {
  auto source = std::make_shared<ProgramSource>();
  if (failed(source->remarks.attach(source->context)))
    return Failure{"remarks cannot be collected", /*isInternal=*/true};
  for (const auto &[name, text] : vocabularies)
    if (llvm::Error error = source->vocabulary.addUserVocabulary(text, name))
      return toFailure(std::move(error));
  llvm::Expected<LoadedProgram> file =
      read(source->vocabulary, source->context);
  if (!file)
    return toFailure(file.takeError());
  source->file = std::move(*file);
  source->remarks.removeRepeated();
  source->readRemarks = source->remarks.getEntries().vec();
  return source;
}

Fallible<ProgramHandle>
ProgramHandle::read(const std::vector<std::string> &paths,
                    const ProgramFacts &facts) {
  if (paths.empty())
    return Failure{"expected the path of an archive, or the paths of the "
                   "archives of all ranks, but the list is empty"};
  StatedFacts stated;
  stated.groups = facts.groups;
  stated.placements = facts.placements;
  stated.assumptions = facts.assumptions;
  stated.rank = facts.rank;
  auto source = readSource(
      facts.vocabularies, [&](const vocabulary::Vocabulary &vocabulary,
                              mlir::MLIRContext &context) {
        return readProgram(paths, vocabulary, stated, {}, context);
      });
  if (auto *failure = std::get_if<Failure>(&source))
    return std::move(*failure);
  auto state = std::make_unique<State>();
  state->source = std::move(std::get<0>(source));
  state->module = std::move(state->source->file.imported.module);
  return ProgramHandle(std::move(state));
}

Fallible<ProgramHandle> ProgramHandle::take(LiveProgram &graph,
                                            std::string context,
                                            const std::string &vocabulary) {
  std::unique_ptr<archive::Program> program = graph.takeProgram();
  if (!program)
    return Failure{LiveProgram::takenMessage};
  std::vector<std::pair<std::string, std::string>> vocabularies;
  if (!vocabulary.empty())
    vocabularies.emplace_back("vocabulary", vocabulary);
  PyThreadState *threadState = PyEval_SaveThread();
  auto source = readSource(
      vocabularies,
      [&](const vocabulary::Vocabulary &known,
          mlir::MLIRContext &mlirContext) -> llvm::Expected<LoadedProgram> {
        if (llvm::Error error = archive::checkNames(*program))
          return std::move(error);
        return readProgram(std::move(program),
                           {std::move(context), /*hasOtherGroups=*/false,
                            /*isOfOneRank=*/true},
                           known, mlirContext);
      });
  PyEval_RestoreThread(threadState);
  if (auto *failure = std::get_if<Failure>(&source))
    return std::move(*failure);
  auto state = std::make_unique<State>();
  state->source = std::move(std::get<0>(source));
  state->module = std::move(state->source->file.imported.module);
  // As python::optimizeProgram: the list elements of live graphs have types.
  (*state->module)
      ->setAttr(tp::elementTypeListsAttrName,
                mlir::UnitAttr::get(&state->source->context));
  return ProgramHandle(std::move(state));
}

std::string ProgramHandle::describe() const {
  Access access(*this);
  const LoadedProgram &file = access.getFile();
  std::map<std::string, int64_t> groups;
  int64_t numOps = 0;
  access.getModule().walk([&](mlir::Operation *op) {
    numOps += llvm::isa_and_present<tp::TPDialect>(op->getDialect());
    if (auto member = llvm::dyn_cast<tp::GroupOpInterface>(op)) {
      tp::GroupAttr group = member.getRankGroup();
      groups[group.getName().str()] = group.getSize();
    }
  });
  llvm::json::Object named;
  for (const auto &[name, size] : groups)
    named[name] = size;
  llvm::json::Array warnings;
  if (std::optional<std::string> warning = describeConstantsOfRank(file))
    warnings.push_back(*warning);
  return toText(
      llvm::json::Object{{"origin", file.origin},
                         {"ranks", static_cast<int64_t>(file.ranks.size())},
                         {"groups", std::move(named)},
                         {"ops", numOps},
                         {"warnings", std::move(warnings)}});
}

std::string ProgramHandle::print() const {
  Access access(*this);
  std::string text;
  llvm::raw_string_ostream os(text);
  access.getModule().print(os);
  return text;
}

/// Returns true if writing to `path` would destroy what the program is read
/// from: unchanged records are copied from its archives.
static bool overwritesSource(const LoadedProgram &file, llvm::StringRef path) {
  auto isSame = [](llvm::StringRef first, llvm::StringRef second) {
    bool same = false;
    return !llvm::sys::fs::equivalent(first, second, same) && same;
  };
  for (const archive::ProgramArchive *archive : file.getArchives()) {
    llvm::StringRef source = archive->container->path();
    if (isSame(source, path))
      return true;
    // The archives of all ranks are written into a folder.
    if (!file.ranks.empty() &&
        isSame(llvm::sys::path::parent_path(source), path))
      return true;
  }
  return false;
}

Fallible<size_t> ProgramHandle::write(const std::string &path) const {
  Access access(*this);
  LoadedProgram &file = access.getFile();
  if (overwritesSource(file, path))
    return Failure{path + ": this would overwrite the input, from which the "
                          "program is read; save it elsewhere"};
  llvm::StringRef name = path;
  bool isModule = name.ends_with(".mlir") || name.ends_with(".mlirbc");
  bool isFolder = !file.ranks.empty() && !isModule;
  if (isFolder && name.ends_with(".pt2"))
    return Failure{path + ": expected a folder, because the program has the "
                          "archives of all ranks"};
  llvm::Expected<WriteSummary> written =
      isFolder ? writeRankFiles(file, path, access.getSource().vocabulary)
               : writeProgramFile(file, path, access.getSource().vocabulary);
  if (!written)
    return toFailure(written.takeError());
  return written->numNodes;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Returns the settings of a choice for a program. Errors are those of the
/// command line's options.
static llvm::Expected<PassSettings> getSettings(const PassChoice &choice,
                                                const LoadedProgram &file) {
  llvm::Expected<Policy> policy = parsePolicy(choice.policy);
  if (!policy)
    llvm::consumeError(policy.takeError());
  // A pass with an upstream rule has it as an option of its own.
  if (!policy || *policy == Policy::Upstream)
    return llvm::createStringError("policy '" + choice.policy +
                                   "': expected 'always' or 'profitable'");
  PassSettings settings;
  settings.policy = *policy;
  settings.target = choice.target;
  settings.exactRounding = choice.exactRounding;
  settings.isForPyTorch = file.getGraph() || !file.getArchives().empty();
  return settings;
}

Fallible<OptimizedHandle>
ProgramHandle::optimize(const PassChoice &choice,
                        std::optional<VerifySettings> proof,
                        bool allowUnproven) const {
  using Outcome = Optimization::Outcome;
  Access access(*this);
  ProgramSource &source = access.getSource();
  LoadedProgram &file = access.getFile();
  OptimizationOptions options;
  options.passes = choice.passes;
  llvm::Expected<PassSettings> settings = getSettings(choice, file);
  if (!settings)
    return toFailure(settings.takeError());
  options.settings = std::move(*settings);
  options.getReproducer = [](unsigned) { return getReproducerPath(); };
  options.verifies = proof.has_value();
  if (proof) {
    llvm::Expected<equivalence::VerifyOptions> parsed =
        getVerifyOptions(*proof);
    if (!parsed)
      return toFailure(parsed.takeError());
    options.proof = std::move(*parsed);
  }
  if (llvm::Error error = checkOptions(options))
    return toFailure(std::move(error));

  source.remarks.clear();
  for (const report::RemarkEntry &entry : source.readRemarks)
    source.remarks.add(entry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(access.getModule()->clone());
  if (hasGraphs(file))
    options.readWritten = [&] {
      std::swap(module, file.imported.module);
      llvm::scope_exit restore(
          [&] { std::swap(module, file.imported.module); });
      EditsOfRanks edits;
      return readWritten(file, source.vocabulary, edits);
    };
  llvm::Expected<Optimization> done =
      compiler::optimize(*module, options, source.remarks);
  if (!done)
    return toFailure(done.takeError());

  OptimizedHandle result;
  result.remarks = toText(source.remarks.toJson());
  result.reason = done->reason;
  if (done->verification)
    result.verification = toText(toJson(*done->verification));
  switch (done->outcome) {
  case Outcome::Unchanged:
    result.verdict = "unchanged";
    return result;
  case Outcome::Changed:
    result.verdict = proof ? "equivalent" : "not verified";
    break;
  case Outcome::ReadsEarly:
    return Failure{file.origin + ": " + done->reason};
  case Outcome::NeedsGroups:
    return Failure{file.origin +
                   ": the result cannot be proven equivalent: " + done->reason};
  case Outcome::CannotBeVerified:
  case Outcome::NotProven:
    if (done->verification)
      result.reason = *done->verification->notProven;
    result.verdict = "not proven";
    if (!allowUnproven)
      return result;
    break;
  case Outcome::Different:
    return Failure{"the optimized program is not equivalent: " +
                       done->verification->differences.front().message,
                   /*isInternal=*/true};
  }
  auto changed = std::make_unique<State>();
  changed->source = state->source;
  changed->module = std::move(module);
  result.program.emplace(ProgramHandle(std::move(changed)));
  return result;
}

Fallible<std::string> ProgramHandle::explain(const PassChoice &choice) const {
  Access access(*this);
  ExplanationOptions options;
  options.passes = choice.passes;
  llvm::Expected<PassSettings> settings = getSettings(choice, access.getFile());
  if (!settings)
    return toFailure(settings.takeError());
  options.settings = std::move(*settings);
  llvm::Expected<Explanation> explanation =
      compiler::explain(access.getModule(), options);
  if (!explanation)
    return toFailure(explanation.takeError());
  llvm::json::Object object = toJson(*explanation);
  object["file"] = access.getFile().origin;
  return toText(std::move(object));
}

//===----------------------------------------------------------------------===//
// Estimates and proofs
//===----------------------------------------------------------------------===//

Fallible<std::string>
ProgramHandle::estimate(const std::string &target,
                        const std::map<std::string, int64_t> &sizes) const {
  Access access(*this);
  const LoadedProgram &file = access.getFile();
  llvm::Expected<target::Target> machine = target::loadTarget(target);
  if (!machine)
    return toFailure(machine.takeError());
  target::SizeTable values;
  for (const auto &[symbol, value] : sizes) {
    if (llvm::Error error = checkSymbol(file, symbol))
      return toFailure(std::move(error));
    if (value < 1)
      return Failure{"size '" + symbol + "': expected a number from 1, not " +
                     std::to_string(value)};
    values[symbol] = value;
  }
  llvm::Expected<StepEstimate> step =
      estimateStep(file, *machine, values, [](llvm::StringRef symbol) {
        return ("sizes={\"" + symbol + "\": 4096}").str();
      });
  if (!step)
    return toFailure(step.takeError());
  llvm::json::Object object = toJson(step->summary);
  object["file"] = file.origin;
  return toText(std::move(object));
}

Fallible<std::map<std::string, double>>
ProgramHandle::priceNodes(const std::string &target,
                          double communicationScale) const {
  Access access(*this);
  llvm::Expected<target::Target> machine = target::loadTarget(target);
  if (!machine)
    return toFailure(machine.takeError());
  llvm::Expected<std::map<std::string, double>> prices =
      compiler::priceNodes(access.getFile(), *machine, communicationScale);
  if (!prices)
    return toFailure(prices.takeError());
  return std::move(*prices);
}

/// Copies a module into another context.
static mlir::OwningOpRef<mlir::ModuleOp> copyTo(mlir::MLIRContext &context,
                                                mlir::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(mlir::writeBytecodeToFile(module, os)))
    return {};
  return mlir::parseSourceString<mlir::ModuleOp>(bytes, &context);
}

Fallible<std::pair<std::string, std::string>>
ProgramHandle::verify(const ProgramHandle &other,
                      const VerifySettings &settings) const {
  llvm::Expected<equivalence::VerifyOptions> options =
      getVerifyOptions(settings);
  if (!options)
    return toFailure(options.takeError());
  auto report = [](const equivalence::VerifyResult &result) {
    std::string text;
    llvm::raw_string_ostream os(text);
    compiler::print(result, os);
    return std::pair(toText(toJson(result)), text);
  };
  if (state->source == other.state->source) {
    Access access(*this);
    // Two versions of one program store the same constants.
    mlir::ModuleOp second =
        &other == this ? access.getModule() : *other.state->module;
    llvm::Expected<equivalence::VerifyResult> result =
        equivalence::verifyEquivalence(access.getModule(), second, *options);
    if (!result)
      return toFailure(result.takeError());
    return report(*result);
  }
  std::scoped_lock both(state->source->mutex, other.state->source->mutex);
  Access first(*this, std::adopt_lock), second(other, std::adopt_lock);
  mlir::OwningOpRef<mlir::ModuleOp> copy =
      copyTo(first.getSource().context, second.getModule());
  if (!copy)
    return Failure{"the second program cannot be copied", /*isInternal=*/true};
  llvm::Expected<equivalence::VerifyResult> result =
      equivalence::verifyEquivalence(first.getModule(), *copy, *options);
  if (!result)
    return toFailure(result.takeError());
  if (llvm::Error error =
          compareConstants(first.getFile(), second.getFile(), *result))
    return toFailure(std::move(error));
  return report(*result);
}
