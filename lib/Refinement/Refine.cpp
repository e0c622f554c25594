//===- Refine.cpp - does a parallel model compute the model? --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EarlyReads.h"
#include "Explanation.h"
#include "RankValues.h"
#include "Refinement.h"
#include "StoredNumbers.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Equivalence/PrimeField.h"
#include "commute/Equivalence/ResolvedPrograms.h"
#include "commute/Support/Quoted.h"

#include <ctime>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

static double getSeconds(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

FieldValue Refinement::getContent(Value value) const {
  if (!value)
    return nullptr;
  Value evaluated = evaluatedOf.lookup(value);
  return evaluated ? evaluation->get(evaluated) : nullptr;
}

std::vector<FieldValue> Refinement::getContents(const Output &output) const {
  std::vector<FieldValue> contents;
  for (Value value : output.ofRanks)
    contents.push_back(getContent(value));
  return contents;
}

/// Copies a program and folds its positions. `values` gets the values that are
/// still computed.
static OwningOpRef<ModuleOp>
copyFolded(UniqueOps &ops, DenseMap<Value, Value> &values, bool folds) {
  static constexpr StringLiteral numberName = "refinement.number";
  OwningOpRef<ModuleOp> copied = ops.makeModule({});
  func::FuncOp function = ops.getFunction();
  func::FuncOp main = analysis::getMain(*copied);
  // Folding erases ops: number them, to find those that are left.
  Builder builder(function.getContext());
  std::vector<Operation *> numbered;
  for (auto [op, own] :
       llvm::zip_equal(function.getBody().front(),
                       main.getBody().front().without_terminator())) {
    own.setAttr(numberName, builder.getI64IntegerAttr(numbered.size()));
    numbered.push_back(&op);
  }
  if (folds)
    equivalence::foldProgram(main);
  for (auto [argument, own] :
       llvm::zip_equal(function.getArguments(), main.getArguments()))
    values[argument] = own;
  for (Operation &own : main.getBody().front()) {
    auto number = own.getAttrOfType<IntegerAttr>(numberName);
    if (!number)
      continue;
    own.removeAttr(numberName);
    for (auto [result, value] : llvm::zip_equal(
             numbered[number.getInt()]->getResults(), own.getResults()))
      values[result] = value;
  }
  return copied;
}

llvm::Error Refinement::evaluate(uint64_t seed) {
  if (!evaluatedReference) {
    evaluatedReference =
        copyFolded(referenceOps, evaluatedOf, proofOptions.reducesSizes);
    evaluatedRanks =
        copyFolded(joinedOps, evaluatedOf, proofOptions.reducesSizes);
  }
  relations.reset();
  evaluation = std::make_unique<equivalence::SampledEvaluation>(
      analysis::getMain(*evaluatedReference),
      analysis::getMain(*evaluatedRanks), proofOptions, seed);
  if (llvm::Error error = evaluation->run()) {
    evaluation.reset();
    return error;
  }
  relations = std::make_unique<ValueRelations>(*evaluation, mesh, world);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

llvm::Error Refinement::prove() {
  SmallVector<Value> expected, actual;
  SmallVector<const Pair *> compared;
  llvm::DenseSet<std::pair<Value, Value>> known;
  for (const Pair &pair : pairs) {
    if (!known.insert({pair.expected, pair.actual}).second)
      continue;
    expected.push_back(pair.expected);
    actual.push_back(pair.actual);
    compared.push_back(&pair);
  }
  OwningOpRef<ModuleOp> first = referenceOps.makeModule(expected);
  OwningOpRef<ModuleOp> second = joinedOps.makeModule(actual);
  llvm::Expected<equivalence::VerifyResult> verified =
      equivalence::compareValues(analysis::getMain(*first),
                                 analysis::getMain(*second), proofOptions);
  if (!verified)
    return verified.takeError();
  result.numOps = verified->numOps;
  result.numRounds = verified->numRounds;
  result.numEvaluatedOps = verified->numEvaluatedOps;
  result.secondsForSizes = verified->secondsForSizes;
  for (std::string &note : verified->notes)
    result.notes.push_back(std::move(note));
  if (verified->notProven) {
    result.verdict = RefinementResult::Verdict::NotProven;
    result.notProven = *verified->notProven;
    result.undecided = verified->undecided;
  } else if (verified->differences.empty()) {
    result.verdict = RefinementResult::Verdict::Refines;
    result.drawn = verified->drawn;
  } else {
    result.verdict = RefinementResult::Verdict::Differs;
    seedOfDifferences = verified->seedOfDifferences;
    for (equivalence::Difference &difference : verified->differences) {
      Finding finding;
      finding.message = difference.message;
      if (difference.output) {
        const Pair &pair = *compared[*difference.output];
        const Output &output = outputs[pair.output];
        finding.message = "output " + output.name + " of rank " +
                          std::to_string(pair.rank) + " is not " +
                          output.relation->getOutputText() +
                          " of the reference's output";
      }
      finding.location = difference.second;
      finding.other = difference.first;
      finding.otherProgram = "reference";
      result.findings.push_back(std::move(finding));
    }
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Outputs of which nothing is known
//===----------------------------------------------------------------------===//

std::optional<equivalence::Undecided>
Refinement::getCause(const Output &output) const {
  SmallVector<Value> ofReference, ofRanks;
  auto collect = [&](Value value, SmallVectorImpl<Value> &values) {
    if (Value evaluated = value ? evaluatedOf.lookup(value) : Value())
      values.push_back(evaluated);
  };
  collect(output.reference, ofReference);
  for (Value value : output.ofRanks)
    collect(value, ofRanks);
  return evaluation->getUnknownResults().getCause(ofReference, ofRanks);
}

std::optional<equivalence::Undecided> Refinement::findUndecided() {
  if (!evaluation)
    if (llvm::Error error = evaluate(proofOptions.seed)) {
      llvm::consumeError(std::move(error));
      return undecidedSize;
    }
  std::optional<equivalence::Undecided> first;
  for (const Output &output : outputs) {
    if (!output.isRefuted)
      continue;
    std::optional<equivalence::Undecided> cause = getCause(output);
    if (!cause)
      return std::nullopt;
    if (!first)
      first = std::move(cause);
  }
  return first;
}

llvm::Error Refinement::dropErrorOfSizes(llvm::Error error) {
  // Sizes that a program determines need not be the numbers chosen for them.
  if (!undecidedSize)
    return error;
  result.notes.push_back("the sizes that were tried do not fit: " +
                         llvm::toString(std::move(error)));
  setNotProven(*undecidedSize);
  return llvm::Error::success();
}

void Refinement::setNotProven(const equivalence::Undecided &undecided) {
  result.verdict = RefinementResult::Verdict::NotProven;
  result.notProven = undecided.reason;
  result.undecided = undecided;
  result.findings.clear();
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

llvm::Error Refinement::run(ModuleOp referenceModule,
                            ArrayRef<ModuleOp> modules) {
  using Verdict = RefinementResult::Verdict;
  std::clock_t start = std::clock();
  proofOptions = options.proof;
  proofOptions.comparesOpaqueCalls = false;
  if (llvm::Error error = collectMesh(referenceModule, modules))
    return error;
  if (llvm::Error error = resolve(referenceModule, modules))
    return dropErrorOfSizes(std::move(error));
  result.numRanks = world.size();
  if (stated.inputsOfRank.size() > static_cast<size_t>(world.back()) + 1)
    return llvm::createStringError(
        "relations: inputs_of_rank has " + Twine(stated.inputsOfRank.size()) +
        " entries, but the ranks are 0 to " + Twine(world.back()));
  if (equivalence::writesMemory(reference) ||
      llvm::any_of(ranks, [](const JoinedRank &rank) {
        return equivalence::writesMemory(rank.function);
      })) {
    joinedOps.disableSharing();
    referenceOps.disableSharing();
  }
  std::vector<std::string> storedNumbers =
      adoptStoredNumbers(reference, ranks, stated);
  RelatedInputs inputs(joinedOps, reference, stated, mesh);
  for (const JoinedRank &rank : ranks)
    if (llvm::Error error = inputs.relate(rank))
      return error;
  if (llvm::Error error = inputs.checkNames())
    return error;
  result.premises = inputs.getPremises();
  inputRelations = inputs.getRelations();
  llvm::append_range(result.premises, storedNumbers);
  for (const auto &[name, legal] : stated.ranges) {
    std::optional<unsigned> index;
    for (unsigned argument = 0; argument < reference.getNumArguments();
         ++argument)
      if (getInputName(reference, argument) == name ||
          getParameterName(reference, argument) == name)
        index = argument;
    if (!index)
      return llvm::createStringError("relations: ranges." + name +
                                     ": the reference has no input of this "
                                     "name");
    proofOptions.ranges[*index] = legal;
    result.premises.push_back("integers of " + name + " are " +
                              legal.getText());
  }
  llvm::append_range(result.premises, stated.premises);
  noteRandomNumbers();

  JoinedRanks joined(joinedOps, ranks,
                     [&](const JoinedRank &rank, BlockArgument argument) {
                       return inputs.make(rank, argument);
                     });
  llvm::Expected<bool> runs = joined.run();
  if (!runs)
    return dropErrorOfSizes(runs.takeError());
  if (!*runs && joined.failsBySizes && undecidedSize) {
    setNotProven(*undecidedSize);
    return llvm::Error::success();
  }
  if (!*runs) {
    result.verdict = joined.isDeadlock ? Verdict::Deadlock : Verdict::Differs;
    result.findings = std::move(joined.failures);
    return llvm::Error::success();
  }
  if (llvm::Error error = buildReference(referenceModule))
    return dropErrorOfSizes(std::move(error));
  if (llvm::Error error = collectOutputs(inputs))
    return error;
  result.secondsJoining = getSeconds(start);
  start = std::clock();
  bool areAllStated = llvm::all_of(outputs, [](const Output &output) {
    return output.relation.has_value();
  });
  if (!areAllStated || options.findsAllRelations) {
    if (llvm::Error error = findOutputRelations()) {
      if (undecidedSize)
        return dropErrorOfSizes(std::move(error));
      result.verdict = Verdict::NotProven;
      result.notProven = "the relations of the outputs cannot be found (state "
                         "\"outputs\", or raise --proof-time or "
                         "--proof-memory): " +
                         llvm::toString(std::move(error));
      return llvm::Error::success();
    }
  }
  if (llvm::Error error = addPairs())
    return error;
  bool isRefuted = false;
  std::vector<Finding> unstated;
  for (Output &output : outputs) {
    output.isRefuted |= !output.isMeant();
    isRefuted |= output.isRefuted;
    if (output.mustBeStated)
      result.notes.push_back("output " + output.name + " is " +
                             output.relation->getText() +
                             ": state this in \"outputs\" if it is meant");
    else if (!output.isMeant() && output.relation &&
             !output.relation->isPartial())
      unstated.push_back(makeUnstatedFinding(output));
  }
  std::optional<equivalence::Undecided> undecided;
  if (isRefuted)
    undecided = findUndecided();
  if (isRefuted && !undecided) {
    result.verdict = Verdict::Differs;
  } else {
    // The other outputs may be wrong.
    if (llvm::Error error = prove())
      return dropErrorOfSizes(std::move(error));
    if (undecided && result.verdict != Verdict::Differs)
      setNotProven(*undecided);
  }
  if (result.verdict == Verdict::Differs) {
    if (llvm::Error error = explain())
      result.notes.push_back("the difference cannot be located: " +
                             llvm::toString(std::move(error)));
    if (std::optional<std::string> reason = findUnprovenDraws()) {
      result.findings.clear();
      // A forgotten gather is one whatever the numbers are.
      if (unstated.empty()) {
        result.verdict = Verdict::NotProven;
        result.notProven = std::move(*reason);
      } else {
        result.notes.push_back("not proven: " + *reason);
      }
    }
    llvm::append_range(result.findings, std::move(unstated));
  }
  for (const Output &output : outputs)
    result.outputs.push_back(
        {output.name, output.relation ? output.relation->getOutputText() : "",
         output.isRequired, result.verdict == Verdict::Refines});
  if (options.findsAllRelations && evaluation)
    findValueRelations();
  result.secondsProving = getSeconds(start);
  return llvm::Error::success();
}

llvm::Error Refinement::explain() {
  if (!evaluation)
    if (llvm::Error error = evaluate(proofOptions.seed))
      return error;
  addReferenceValues();
  if (Explanation(*this).run() || !seedOfDifferences)
    return llvm::Error::success();
  // The outputs differ only for some integers.
  if (llvm::Error error = evaluate(*seedOfDifferences))
    return error;
  addReferenceValues();
  Explanation(*this).run();
  return llvm::Error::success();
}

void Refinement::addReferenceValues() {
  if (relations->getCount() > 0)
    return;
  func::FuncOp main = analysis::getMain(*evaluatedReference);
  for (BlockArgument argument : main.getArguments())
    relations->add(argument);
  for (Operation &op : main.getBody().front().without_terminator())
    for (Value value : op.getResults())
      relations->add(value);
}

std::optional<FoundRelation>
Refinement::findRearranged(const RankValues::Node &node,
                           RecognizedValues &recognized) {
  auto first = llvm::find_if(node.contents, [](const FieldValue &content) {
    return content != nullptr;
  });
  for (size_t owner : recognized.getOwners(node, first - node.contents.begin()))
    if (std::optional<Rearrangement> found = relations->findRearranged(
            relations->getContent(owner), node.contents, inputRelations))
      return FoundRelation{owner, std::move(found->relation)};
  return std::nullopt;
}

void Refinement::findValueRelations() {
  addReferenceValues();
  RankValues values(ranks, *relations,
                    [&](Value value) { return getContent(value); });
  // Looking up single elements takes long in deep programs.
  constexpr size_t mostValues = 2000;
  std::optional<RecognizedValues> recognized;
  if (relations->getCount() <= mostValues)
    recognized.emplace(*relations, values);
  for (const RankValues::Node &node : values.getNodes()) {
    Operation *op = node.getOp();
    if (!node.hasContent() || !op || !getFirstName(op))
      continue;
    ValueRelation &value = result.values.emplace_back(
        ValueRelation{node.getFirst().getLoc(), "", "", std::nullopt});
    size_t count = llvm::count_if(node.values, [](Value own) { return !!own; });
    if (count < ranks.size()) {
      value.ranks = " (";
      for (auto [index, own] : llvm::enumerate(node.values))
        if (own)
          value.ranks += (value.ranks.size() > 2 ? ", " : "rank ") +
                         std::to_string(world[index]);
      value.ranks += ")";
    }
    std::optional<FoundRelation> relation = values.getRelation(node);
    if (!relation && recognized)
      relation = findRearranged(node, *recognized);
    if (!relation) {
      value.relation =
          node.dependsOnInputs ? "no value of the reference" : "a constant";
      continue;
    }
    value.relation = relation->relation.getOutputText();
    value.reference = relations->getValue(relation->value).getLoc();
  }
}

/// Compares with the numbers that are chosen for sizes of values and, where the
/// verdict rests on these, once more with numbers such that each size that the
/// ranks determine as the reference does is that of the reference.
static llvm::Expected<RefinementResult>
compare(ModuleOp reference, ArrayRef<ModuleOp> ranks,
        const StatedRelations &relations, const RefineOptions &options) {
  NumbersOfSizes numbers;
  Refinement refinement(reference.getContext(), relations, options, numbers);
  if (llvm::Error error = refinement.run(reference, ranks))
    return std::move(error);
  if (!refinement.hasSizesOfValues() || !refinement.result.undecided)
    return std::move(refinement.result);
  std::optional<NumbersOfSizes> matched = refinement.matchSizes(ranks.size());
  if (!matched)
    return std::move(refinement.result);
  Refinement again(reference.getContext(), relations, options, *matched);
  if (llvm::Error error = again.run(reference, ranks))
    return std::move(error);
  return std::move(again.result);
}

llvm::Expected<RefinementResult>
refinement::refine(ModuleOp reference, ArrayRef<ModuleOp> ranks,
                   const StatedRelations &relations,
                   const RefineOptions &options) {
  equivalence::PrimeField::Modulus modulus(options.proof.seed);
  llvm::Expected<RefinementResult> result =
      compare(reference, ranks, relations, options);
  if (result)
    addEarlyReads(reference, ranks, *result);
  return result;
}
