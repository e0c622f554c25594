//===- StoredNumbers.cpp - buffers that differ between ranks --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "StoredNumbers.h"

#include "RelatedInputs.h"
#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

namespace {
/// An input of one program.
struct Place {
  /// Null for the reference.
  const JoinedRank *rank;
  func::FuncOp function;
  unsigned index;
  /// Null if the archive stores no number.
  IntegerAttr number;
};
} // namespace

static bool isStated(const StatedRelations &stated, const Place &place) {
  auto has = [&](const StatedRelations::Inputs &inputs) {
    return inputs.count(getInputName(place.function, place.index).str()) ||
           inputs.count(getParameterName(place.function, place.index).str());
  };
  return has(stated.inputs) || llvm::any_of(stated.inputsOfRank, has);
}

static std::string describe(StringRef name, ArrayRef<Place> places) {
  std::string text = ("input " + name + ": as stored (").str();
  llvm::raw_string_ostream os(text);
  constexpr size_t maxListed = 8;
  llvm::interleaveComma(places.take_front(maxListed), os,
                        [&](const Place &place) {
                          if (place.rank)
                            os << "rank " << place.rank->rank;
                          else
                            os << "reference";
                          os << ": " << place.number.getValue();
                        });
  if (places.size() > maxListed)
    os << " and " << places.size() - maxListed << " more";
  os << ")";
  return text;
}

std::vector<std::string>
refinement::adoptStoredNumbers(func::FuncOp reference,
                               ArrayRef<JoinedRank> ranks,
                               const StatedRelations &stated) {
  // What one archive stores need not hold for other ranks that run it.
  if (ranks.size() > 1 && ranks.front().function == ranks.back().function)
    return {};
  std::map<std::string, std::vector<Place>> buffers;
  auto add = [&](func::FuncOp function, const JoinedRank *rank) {
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto number =
          function.getArgAttrOfType<IntegerAttr>(index, tp::storedAttrName);
      // The name by which the inputs of different programs correspond.
      std::string key = getShownName(function, index).str();
      // Of the reference only what the ranks have, with or without a number.
      if (rank ? number != nullptr : buffers.count(key))
        buffers[key].push_back({rank, function, index, number});
    }
  };
  for (const JoinedRank &rank : ranks)
    add(rank.function, &rank);
  add(reference, nullptr);
  std::vector<std::string> premises;
  for (auto &[key, places] : buffers) {
    bool isInReference = !places.back().rank;
    bool differs = llvm::any_of(places, [&](const Place &place) {
      return place.number != places.front().number;
    });
    if ((isInReference && (!differs || !places.back().number)) ||
        llvm::any_of(places, [&](const Place &place) {
          return place.rank && isStated(stated, place);
        }))
      continue;
    for (Place &place : places)
      place.function.setArgAttr(place.index, tp::TPDialect::valueAttrName,
                                place.number);
    premises.push_back(describe(key, places));
  }
  return premises;
}
