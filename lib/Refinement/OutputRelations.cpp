//===- OutputRelations.cpp - what the ranks hold of each output -----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Refinement.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Support/Quoted.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

static OperandRange getResults(func::FuncOp function) {
  return function.getBody().front().getTerminator()->getOperands();
}

/// Returns the name of a value in its graph; empty if it has none.
static StringRef getValueName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return getInputName(cast<func::FuncOp>(argument.getOwner()->getParentOp()),
                        argument.getArgNumber());
  Operation *op = value.getDefiningOp();
  auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (!names || index >= names.size())
    return "";
  auto name = dyn_cast<StringAttr>(names[index]);
  return name ? name.getValue() : StringRef();
}

/// Returns the index of an output by index or name.
static std::optional<unsigned> findOutput(func::FuncOp function,
                                          StringRef key) {
  unsigned index;
  if (!key.getAsInteger(10, index)) {
    if (index < getResults(function).size())
      return index;
    return std::nullopt;
  }
  for (auto [number, value] : llvm::enumerate(getResults(function)))
    if (getValueName(value) == key)
      return number;
  return std::nullopt;
}

llvm::Expected<unsigned> Refinement::findReferenceOutput(StringRef key) {
  if (std::optional<unsigned> index = findOutput(reference, key))
    return *index;
  return llvm::createStringError(
      "relations: outputs." + key + ": the reference returns " +
      Twine(getResults(reference).size()) + " outputs, and none of this name");
}

bool Refinement::Output::isMeant() const {
  if (isRequired || !relation)
    return isRequired;
  if (mayBeSharded)
    return !mustBeStated && !relation->isPartial();
  return relation->isWhole();
}

llvm::Error Refinement::collectOutputs(const RelatedInputs &inputs) {
  std::map<unsigned, const StatedRelations::Output *> requirements;
  for (const auto &[key, output] : stated.outputs) {
    llvm::Expected<unsigned> index = findReferenceOutput(key);
    if (!index)
      return index.takeError();
    if (!requirements.emplace(*index, &output).second)
      return llvm::createStringError("relations: outputs." + key +
                                     ": this output is stated twice");
  }
  for (auto [index, value] : llvm::enumerate(getResults(reference))) {
    Output &output = outputs.emplace_back();
    output.name = std::to_string(index);
    if (StringRef name = getValueName(value); !name.empty())
      output.name += " (" + name.str() + ")";
    output.reference = ofReference.lookup(value);
    auto required = requirements.find(index);
    std::string key = std::to_string(index);
    if (required != requirements.end()) {
      const StatedRelations::Output &statement = *required->second;
      output.relation = statement.relation;
      if (!statement.gradientOf.empty()) {
        llvm::Expected<Relation> gradient =
            inputs.findGradient(ranks, statement.gradientOf);
        if (!gradient)
          return llvm::createStringError("relations: outputs." + Twine(index) +
                                         ": " +
                                         llvm::toString(gradient.takeError()));
        output.relation = std::move(*gradient);
      }
      output.isRequired = output.relation.has_value();
      output.mayBeSharded = !output.isRequired;
      if (!statement.output.empty())
        key = statement.output;
    }
    bool any = false;
    for (JoinedRank &rank : ranks) {
      std::optional<unsigned> own = findOutput(rank.function, key);
      any |= own.has_value();
      output.ofRanks.push_back(
          own ? rank.values.lookup(getResults(rank.function)[*own]) : Value());
    }
    if (!any && required != requirements.end())
      return llvm::createStringError("relations: outputs." + Twine(index) +
                                     ": no rank has an output " + quoted(key));
  }
  return llvm::Error::success();
}

llvm::Error Refinement::findOutputRelations() {
  if (llvm::Error error = evaluate(proofOptions.seed))
    return error;
  SmallVector<Output *> unknown;
  for (Output &output : outputs)
    if (!output.relation)
      unknown.push_back(&output);
  // Zeros are in every relation to zeros: the gradient of an expert that gets
  // no token says nothing, but other inputs may give it some.
  constexpr unsigned mostEvaluations = 8;
  for (unsigned number = 0; !unknown.empty() && number < mostEvaluations;
       ++number) {
    if (number > 0)
      if (llvm::Error error = evaluate(proofOptions.seed + number)) {
        // The relations to zeros remain.
        llvm::consumeError(std::move(error));
        break;
      }
    llvm::erase_if(unknown, [&](Output *output) {
      FieldValue whole = getContent(output->reference);
      std::vector<FieldValue> contents = getContents(*output);
      output->relation = relations->findTo(whole, contents);
      output->mustBeStated = false;
      if (!output->relation)
        if (std::optional<Rearrangement> found =
                relations->findRearranged(whole, contents, inputRelations)) {
          output->relation = std::move(found->relation);
          output->mustBeStated = !found->isSuggested;
        }
      return !whole || !equivalence::isZero(whole);
    });
  }
  return llvm::Error::success();
}

/// Says how a tensor is cut: "sharded along dim 0 over dp and along dim 1 over
/// tp"; empty if the relation is another one.
static std::string describeShards(const Relation &relation, const Mesh &mesh) {
  if (relation.isWhole())
    return "sharded";
  if (relation.kind != Relation::Kind::Shard)
    return "";
  const Relation &operand = relation.operands[0];
  std::string text = describeShards(operand, mesh);
  if (text.empty())
    return "";
  std::string axis = relation.axis;
  if (llvm::Expected<std::string> resolved = mesh.resolve(axis))
    axis = *resolved;
  else
    llvm::consumeError(resolved.takeError());
  return text + (operand.isWhole() ? " along dim " : " and along dim ") +
         std::to_string(relation.dim) + " over " + axis;
}

Finding Refinement::makeUnstatedFinding(const Output &output) const {
  Finding finding;
  std::string how = describeShards(*output.relation, mesh);
  std::string index = output.name.substr(0, output.name.find(' '));
  std::string stated = "state \"outputs\": {\"" + index + "\": \"" +
                       output.relation->getOutputText() + "\"}";
  if (how.empty()) {
    finding.message = "output " + output.name + " is " +
                      output.relation->getText() +
                      " of the reference's output, and nothing states that";
    finding.fix = "return the reference's output, or " + stated;
  } else {
    finding.message =
        "output " + output.name + " is " + how + ": gather it, or state it";
    finding.fix = "gather it before it is returned, or " + stated;
  }
  auto own = llvm::find_if(output.ofRanks, [](Value value) { return !!value; });
  if (own != output.ofRanks.end())
    finding.location = own->getLoc();
  finding.other = output.reference.getLoc();
  finding.otherProgram = "reference";
  return finding;
}

llvm::Error Refinement::addPairs() {
  RelationOps ofReferenceOps(referenceOps, mesh,
                             [](StringRef) { return Value(); });
  for (auto [index, output] : llvm::enumerate(outputs)) {
    if (!output.relation)
      continue;
    RelationOps relationOps(referenceOps, mesh, [&](StringRef name) {
      return name == "output" ? output.reference : Value();
    });
    relationOps.ignorePartial();
    referenceOps.setLocation(output.reference.getLoc());
    // The axes along which members hold summands.
    std::vector<std::string> axes;
    auto collectAxes = [&](auto &self,
                           const Relation &relation) -> llvm::Error {
      if (relation.kind == Relation::Kind::Partial) {
        llvm::Expected<std::string> axis = mesh.resolve(relation.axis);
        if (!axis)
          return axis.takeError();
        axes.push_back(*axis);
      }
      for (const Relation &operand : relation.operands)
        if (llvm::Error error = self(self, operand))
          return error;
      return llvm::Error::success();
    };
    auto fail = [&](llvm::Error error) {
      return llvm::createStringError("relations: outputs." + output.name +
                                     ": " + llvm::toString(std::move(error)));
    };
    if (llvm::Error error = collectAxes(collectAxes, *output.relation))
      return fail(std::move(error));
    for (auto [rank, own] : llvm::zip_equal(world, output.ofRanks)) {
      if (!own)
        continue;
      auto type = dyn_cast<RankedTensorType>(own.getType());
      llvm::Expected<Value> expected = relationOps.build(
          *output.relation, rank, type ? type.getElementType() : Type());
      if (!expected)
        return fail(expected.takeError());
      Value actual = own;
      if (!axes.empty()) {
        SmallVector<Value> summands;
        for (int64_t member : mesh.getMembersAlong(axes, rank))
          if (Value other =
                  output.ofRanks[llvm::find(world, member) - world.begin()])
            summands.push_back(other);
        if (llvm::any_of(summands, [&](Value other) {
              return other.getType() != own.getType();
            }))
          return fail(llvm::createStringError(
              "the summands of the ranks have different types"));
        joinedOps.setLocation(own.getLoc());
        actual = joinedOps.sum(summands);
      }
      if (expected->getType() != actual.getType()) {
        Finding finding;
        llvm::raw_string_ostream(finding.message)
            << "output " << output.name << " is " << actual.getType()
            << " on rank " << rank << ", but "
            << output.relation->getOutputText() << " of the reference is "
            << expected->getType();
        finding.location = own.getLoc();
        finding.other = output.reference.getLoc();
        finding.otherProgram = "reference";
        result.findings.push_back(std::move(finding));
        output.isRefuted = true;
        break;
      }
      pairs.push_back({*expected, actual, index, rank});
    }
  }
  return llvm::Error::success();
}
