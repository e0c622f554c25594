//===- RelatedInputs.cpp - what the ranks' inputs are ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RelatedInputs.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Support/NamePattern.h"
#include "commute/Support/Quoted.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

StringRef refinement::getInputName(func::FuncOp function, unsigned index) {
  auto name =
      function.getArgAttrOfType<StringAttr>(index, tp::TPDialect::nameAttrName);
  return name ? name.getValue() : StringRef();
}

StringRef refinement::getParameterName(func::FuncOp function, unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(
      index, tp::TPDialect::parameterAttrName);
  return name ? name.getValue() : StringRef();
}

StringRef refinement::getShownName(func::FuncOp function, unsigned index) {
  StringRef parameter = getParameterName(function, index);
  return parameter.empty() ? getInputName(function, index) : parameter;
}

TypedAttr refinement::getConstant(func::FuncOp function, unsigned index) {
  return function.getArgAttrOfType<TypedAttr>(index,
                                              tp::TPDialect::valueAttrName);
}

/// Returns the hash of a constant tensor's elements; empty if they are unknown.
static StringRef getContent(func::FuncOp function, unsigned index) {
  auto content =
      function.getArgAttrOfType<StringAttr>(index, tp::contentAttrName);
  return content ? content.getValue() : StringRef();
}

RelatedInputs::RelatedInputs(UniqueOps &ops, func::FuncOp reference,
                             const StatedRelations &stated, const Mesh &mesh)
    : ops(ops), reference(reference), stated(stated), mesh(mesh),
      relationOps(ops, mesh,
                  [this](StringRef name) {
                    std::optional<unsigned> index = findReferenceInput(name);
                    return index ? referenceInputs[*index] : Value();
                  }),
      trialOps(ops.getContext()), trial(trialOps, mesh, [this](StringRef name) {
        std::optional<unsigned> index = findReferenceInput(name);
        return index ? trialInputs[*index] : Value();
      }) {
  for (BlockArgument argument : reference.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef name = getInputName(reference, index);
    ops.setLocation(argument.getLoc());
    Value input = ops.addInput(name.empty() ? "input " + std::to_string(index)
                                            : name.str(),
                               argument.getType());
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (TypedAttr value = getConstant(reference, index); value && tensor)
      input = ops.constant(value, tensor.getShape(), tensor.getElementType());
    referenceInputs.push_back(input);
    trialInputs.push_back(trialOps.addInput("", argument.getType()));
    for (StringRef key : {name, getParameterName(reference, index)})
      if (!key.empty())
        indexOf.try_emplace(key, index);
    if (StringRef content = getContent(reference, index); !content.empty())
      indexOfContent.try_emplace(content, index);
  }
}

std::optional<unsigned>
RelatedInputs::findReferenceInput(StringRef name) const {
  auto place = indexOf.find(name);
  if (place == indexOf.end())
    return std::nullopt;
  return place->second;
}

const Relation *RelatedInputs::findStated(int64_t rank, StringRef name,
                                          StringRef parameter) {
  const Relation *found = nullptr;
  auto look = [&](const StatedRelations::Inputs &inputs) {
    for (StringRef key : {name, parameter})
      if (auto place = inputs.find(key.str());
          !key.empty() && place != inputs.end()) {
        usedNames.insert(key.str());
        found = &place->second;
      }
  };
  look(stated.inputs);
  // What is stated for one rank holds before what is stated for all.
  if (rank < static_cast<int64_t>(stated.inputsOfRank.size()))
    look(stated.inputsOfRank[rank]);
  return found;
}

std::vector<Relation> RelatedInputs::getRelations() const {
  std::vector<Relation> relations;
  std::set<std::string> known;
  for (const auto &[place, relation] : related)
    if (known.insert(relation.getText()).second)
      relations.push_back(relation);
  return relations;
}

llvm::Expected<Relation> RelatedInputs::findGradient(ArrayRef<JoinedRank> ranks,
                                                     StringRef name) const {
  std::optional<Relation> result;
  std::string first;
  for (const JoinedRank &rank : ranks) {
    auto function = const_cast<func::FuncOp &>(rank.function);
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      if (getInputName(function, index) != name &&
          getParameterName(function, index) != name)
        continue;
      auto place = related.find({rank.rank, index});
      if (place == related.end())
        continue;
      std::string text = place->second.getText();
      if (result && text != first)
        return llvm::createStringError("the input " + quoted(name) + " is " +
                                       first + " on one rank and " + text +
                                       " on rank " + Twine(rank.rank) +
                                       ", so its gradient must be stated");
      first = text;
      result = makeGradientRelation(place->second);
      if (!result)
        return llvm::createStringError(
            "the input " + quoted(name) + " is " + text +
            ", which is not made of one tensor of the reference, so its "
            "gradient must be stated");
    }
  }
  if (!result)
    return llvm::createStringError("no rank has an input " + quoted(name));
  return std::move(*result);
}

llvm::Error RelatedInputs::checkNames() const {
  auto check = [&](const StatedRelations::Inputs &inputs,
                   const Twine &key) -> llvm::Error {
    for (const auto &[name, relation] : inputs)
      if (!usedNames.count(name))
        return llvm::createStringError("relations: " + key + "." + name +
                                       ": no rank has an input of this name");
    return llvm::Error::success();
  };
  if (llvm::Error error = check(stated.inputs, "inputs"))
    return error;
  for (auto [rank, inputs] : llvm::enumerate(stated.inputsOfRank))
    if (llvm::Error error =
            check(inputs, "inputs_of_rank[" + Twine(rank) + "]"))
      return error;
  return llvm::Error::success();
}

std::optional<Relation> RelatedInputs::readSidecar(const JoinedRank &rank,
                                                   unsigned index,
                                                   StringRef name) const {
  auto placements = const_cast<func::FuncOp &>(rank.function)
                        .getArgAttrOfType<DictionaryAttr>(
                            index, tp::TPDialect::placementsAttrName);
  if (!placements)
    return std::nullopt;
  Relation relation = Relation::makeName(name);
  // Shards are nested in the order of the mesh.
  size_t used = 0;
  for (const auto &[axis, groups] : mesh.getAxes()) {
    auto placement = placements.getAs<tp::PlacementAttr>(axis);
    if (!placement)
      continue;
    ++used;
    switch (placement.getKind()) {
    case tp::PlacementKind::Replicated:
      break;
    case tp::PlacementKind::Shard:
      relation =
          Relation::makeShard(std::move(relation), placement.getDim(), axis);
      break;
    case tp::PlacementKind::Partial:
      if (placement.getReduction() != tp::ReductionKind::Sum)
        return std::nullopt;
      relation = Relation::makePartial(std::move(relation), axis);
      break;
    case tp::PlacementKind::Varying:
      return std::nullopt;
    }
  }
  if (used == 0)
    return std::nullopt;
  return relation;
}

llvm::Expected<RelatedInputs::Found>
RelatedInputs::infer(const JoinedRank &rank, unsigned index) {
  auto function = const_cast<func::FuncOp &>(rank.function);
  StringRef name = getInputName(function, index);
  StringRef parameter = getParameterName(function, index);
  StringRef shownName = getShownName(function, index);
  std::string shown = quoted(shownName);
  std::optional<unsigned> whole;
  StringRef wholeName;
  for (StringRef key : {parameter, name})
    if (!key.empty() && !whole) {
      whole = findReferenceInput(key);
      wholeName = key;
    }
  Type own = function.getArgumentTypes()[index];
  auto line = [&](const Twine &relation) {
    return ("\"inputs\": {\"" + shownName + "\": \"" + relation + "\"}").str();
  };
  StringRef content = getContent(function, index);
  if (auto same = indexOfContent.find(content);
      !content.empty() && same != indexOfContent.end())
    return Found{
        Relation::makeName(getInputName(reference, same->second).str()),
        Source::Constant};
  if (!whole)
    return llvm::createStringError(
        "input " + shown + " of rank " + Twine(rank.rank) +
        " is not related to the reference, which has no input of this name; "
        "state it in relations.json, such as " +
        line("NAME"));
  Type type = reference.getArgumentTypes()[*whole];
  auto tensor = dyn_cast<RankedTensorType>(own);
  auto wholeTensor = dyn_cast<RankedTensorType>(type);
  if (std::optional<Relation> placed = readSidecar(rank, index, wholeName);
      placed && tensor)
    return Found{std::move(*placed), Source::Sidecar};
  if (type == own && !content.empty() && !getContent(reference, *whole).empty())
    return llvm::createStringError(
        "the constant tensor " + shown + " of rank " + Twine(rank.rank) +
        " has other elements than that of the reference; state in "
        "relations.json which tensor of the reference it is, such as " +
        line("NAME"));
  if (type == own)
    return Found{Relation::makeName(wholeName), Source::Inferred};
  std::vector<Relation> readings;
  if (tensor && wholeTensor &&
      tensor.getElementType() == wholeTensor.getElementType())
    readings = findShardings(mesh, wholeTensor.getShape(), tensor.getShape(),
                             rank.rank, wholeName);
  if (readings.size() == 1)
    return Found{std::move(readings.front()), Source::Inferred};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "input " << shown << " of rank " << rank.rank << " is " << own
     << ", and that of the reference is " << type << ": ";
  if (readings.empty()) {
    os << "no shards of the mesh axes explain that; state the relation in "
          "relations.json, such as "
       << line("shard(" + wholeName + ", 0)");
  } else {
    os << "which of these is it? ";
    llvm::interleave(
        readings, os,
        [&](const Relation &reading) { os << line(reading.getText()); },
        " or ");
  }
  return llvm::createStringError(text);
}

void RelatedInputs::notePremise(StringRef name, const Found &found,
                                int64_t rank) {
  std::string relation = found.relation.getText();
  std::string line =
      getNamePattern(name) + ": " +
      (relation == name ? "replicated" : getNamePattern(relation));
  switch (found.source) {
  case Source::Stated:
    break;
  case Source::Sidecar:
    line += " (by the sidecar)";
    break;
  case Source::Inferred:
    line += " (inferred from name and shape)";
    break;
  case Source::Constant:
    return;
  }
  auto &[names, ofRanks] = premises[line];
  names.insert(name.str());
  ofRanks.insert(rank);
}

std::vector<std::string> RelatedInputs::getPremises() const {
  size_t numRanks = 0;
  for (const auto &[line, about] : premises)
    numRanks = std::max(numRanks, about.second.size());
  std::vector<std::string> lines;
  for (const auto &[line, about] : premises) {
    std::string text = "input " + line;
    if (about.first.size() > 1)
      text += " (" + std::to_string(about.first.size()) + " inputs)";
    if (about.second.size() < numRanks) {
      text += about.second.size() == 1 ? " on rank " : " on ranks ";
      bool isFirst = true;
      for (int64_t rank : about.second) {
        text += (isFirst ? "" : ", ") + std::to_string(rank);
        isFirst = false;
      }
    }
    lines.push_back(std::move(text));
  }
  return lines;
}

llvm::Error RelatedInputs::relate(const JoinedRank &rank) {
  auto function = const_cast<func::FuncOp &>(rank.function);
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    StringRef name = getInputName(function, index);
    StringRef parameter = getParameterName(function, index);
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    const Relation *own = findStated(rank.rank, name, parameter);
    if (getConstant(function, index) && tensor && !own)
      continue;
    Found found{Relation(), Source::Stated};
    if (own) {
      found.relation = *own;
    } else {
      llvm::Expected<Found> inferred = infer(rank, index);
      if (!inferred)
        return inferred.takeError();
      found = std::move(*inferred);
    }
    std::string shown = getShownName(function, index).str();
    llvm::Expected<Value> value = trial.build(
        found.relation, rank.rank, tensor ? tensor.getElementType() : Type());
    if (!value)
      return llvm::createStringError("input " + quoted(shown) + " of rank " +
                                     Twine(rank.rank) + ": " +
                                     llvm::toString(value.takeError()));
    if (value->getType() != argument.getType()) {
      std::string text;
      llvm::raw_string_ostream(text)
          << "input " << quoted(shown) << " of rank " << rank.rank << " is "
          << argument.getType() << ", but " << quoted(found.relation.getText())
          << " is " << value->getType();
      return llvm::createStringError(text);
    }
    notePremise(shown, found, rank.rank);
    related[{rank.rank, index}] = std::move(found.relation);
  }
  return llvm::Error::success();
}

llvm::Expected<Value> RelatedInputs::make(const JoinedRank &rank,
                                          BlockArgument argument) {
  auto function = const_cast<func::FuncOp &>(rank.function);
  unsigned index = argument.getArgNumber();
  auto tensor = dyn_cast<RankedTensorType>(argument.getType());
  ops.setLocation(argument.getLoc());
  auto found = related.find({rank.rank, index});
  if (found == related.end())
    return ops.constant(getConstant(function, index), tensor.getShape(),
                        tensor.getElementType());
  llvm::Expected<Value> value = relationOps.build(
      found->second, rank.rank, tensor ? tensor.getElementType() : Type());
  if (!value || ops.isSharing())
    return value;
  return ops.copyMemory(*value);
}
