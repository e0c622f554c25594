//===- GroupAttribute.cpp - groups of ranks ---------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GroupStorage.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute::tp;

/// Parses a rank, or a range "0 to 7" of ranks.
static ParseResult parseRanks(AsmParser &parser,
                              SmallVectorImpl<int64_t> &ranks) {
  SMLoc location = parser.getCurrentLocation();
  int64_t first;
  if (parser.parseInteger(first))
    return failure();
  if (failed(parser.parseOptionalKeyword("to"))) {
    ranks.push_back(first);
    return success();
  }
  int64_t last;
  if (parser.parseInteger(last))
    return failure();
  if (first < 0 || last < first || last >= GroupAttr::maxRanks)
    return parser.emitError(location)
           << "expected an ascending range of ranks below "
           << GroupAttr::maxRanks;
  llvm::append_range(ranks, llvm::seq_inclusive(first, last));
  return success();
}

Attribute GroupAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  std::string name;
  if (parser.parseLess() || parser.parseString(&name) || parser.parseComma())
    return {};
  SmallVector<int64_t> ranks;
  std::optional<int64_t> size;
  if (succeeded(parser.parseOptionalKeyword("size"))) {
    int64_t stated;
    if (parser.parseEqual() || parser.parseInteger(stated) ||
        parser.parseGreater())
      return {};
    return parser.getChecked<GroupAttr>(location, parser.getContext(), name,
                                        stated, ranks);
  }
  // A list of groups starts with two brackets, a single group with one.
  bool isFirst = true, isAxis = false;
  auto parseItem = [&]() -> ParseResult {
    SMLoc itemLocation = parser.getCurrentLocation();
    size_t before = ranks.size();
    bool isGroup = succeeded(parser.parseOptionalLSquare());
    if (isFirst)
      isAxis = isGroup;
    isFirst = false;
    if (isGroup != isAxis)
      return parser.emitError(itemLocation)
             << (isAxis ? "expected a list of ranks, like the elements before"
                        : "expected a rank, like the elements before");
    if (!isGroup)
      return parseRanks(parser, ranks);
    bool isEmpty = succeeded(parser.parseOptionalRSquare());
    if (!isEmpty && (parser.parseCommaSeparatedList([&] {
          return parseRanks(parser, ranks);
        }) || parser.parseRSquare()))
      return failure();
    int64_t members = ranks.size() - before;
    if (size && *size != members)
      return parser.emitError(itemLocation)
             << "the groups of one axis must have equal sizes, but two have "
             << *size << " and " << members << " members";
    size = members;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseItem) ||
      parser.parseGreater())
    return {};
  if (ranks.empty()) {
    parser.emitError(location) << "group \"" << name << "\" has no members";
    return {};
  }
  return parser.getChecked<GroupAttr>(
      location, parser.getContext(), name,
      size.value_or(static_cast<int64_t>(ranks.size())), ranks);
}

/// Calls `visit` with the first and the last rank of each ascending run.
static void
forEachRun(ArrayRef<int64_t> ranks,
           llvm::function_ref<void(int64_t first, int64_t last)> visit) {
  for (size_t begin = 0, end; begin < ranks.size(); begin = end) {
    end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    visit(ranks[begin], ranks[end - 1]);
  }
}

void GroupAttr::print(AsmPrinter &printer) const {
  llvm::raw_ostream &os = printer.getStream();
  os << '<';
  printer.printString(getName());
  os << ", ";
  // Short runs are easier to read as individual ranks.
  constexpr int64_t shortestRange = 32;
  auto printMembers = [&](int64_t index) {
    os << '[';
    llvm::ListSeparator separator;
    forEachRun(getMembers(index), [&](int64_t first, int64_t last) {
      if (last - first + 1 >= shortestRange)
        os << separator << first << " to " << last;
      else
        for (int64_t rank = first; rank <= last; ++rank)
          os << separator << rank;
    });
    os << ']';
  };
  if (!hasKnownMembers()) {
    os << "size = " << getSize();
  } else if (getNumGroups() == 1) {
    printMembers(0);
  } else {
    os << '[';
    llvm::interleaveComma(llvm::seq<int64_t>(0, getNumGroups()), os,
                          printMembers);
    os << ']';
  }
  os << '>';
}

std::string GroupAttr::formatMembers() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t index = 0; index < getNumGroups(); ++index) {
    os << (index ? "/" : "");
    llvm::ListSeparator separator(",");
    forEachRun(getMembers(index), [&](int64_t first, int64_t last) {
      os << separator << first;
      if (last > first)
        os << (last > first + 1 ? "-" : ",") << last;
    });
  }
  return text;
}

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringRef name, int64_t size,
                                ArrayRef<int64_t> ranks) {
  if (size < 1)
    return emitError() << "group \"" << name << "\" has no members";
  if (size > maxRanks || ranks.size() > maxRanks)
    return emitError() << "group \"" << name << "\" has more than " << maxRanks
                       << " ranks";
  if (ranks.size() % size != 0)
    return emitError() << "group \"" << name << "\": " << ranks.size()
                       << " ranks cannot be divided into groups of " << size;
  llvm::BitVector seen;
  for (int64_t rank : ranks) {
    if (rank < 0 || rank >= maxRanks)
      return emitError() << "group \"" << name << "\": rank " << rank << " is "
                         << (rank < 0 ? "negative" : "too large");
    if (rank >= seen.size())
      seen.resize(rank + 1);
    if (seen.test(rank))
      return emitError() << "group \"" << name << "\": rank " << rank
                         << " is listed twice";
    seen.set(rank);
  }
  return success();
}

StringRef GroupAttr::getName() const { return getImpl()->name; }
int64_t GroupAttr::getSize() const { return getImpl()->size; }
ArrayRef<int64_t> GroupAttr::getRanks() const { return getImpl()->ranks; }

std::optional<int64_t> GroupAttr::findRank(int64_t rank) const {
  ArrayRef<detail::GroupAttrStorage::Place> places = getImpl()->places;
  if (places.empty())
    return rank >= 0 && rank < static_cast<int64_t>(getRanks().size())
               ? std::optional(rank)
               : std::nullopt;
  const auto *place =
      llvm::lower_bound(places, rank, [](const auto &place, int64_t rank) {
        return place.first < rank;
      });
  if (place == places.end() || place->first != rank)
    return std::nullopt;
  return place->second;
}

ArrayRef<int64_t> GroupAttr::getMembersAround(int64_t rank) const {
  std::optional<int64_t> index = findRank(rank);
  return index ? getMembers(*index / getSize()) : ArrayRef<int64_t>();
}

/// "0,1" for a group without a name, "0,1/2,3" for such an axis.
std::string GroupAttr::getKey() const {
  if (!getName().empty())
    return getName().str();
  std::string key;
  llvm::raw_string_ostream os(key);
  for (int64_t index = 0; index < getNumGroups(); ++index) {
    os << (index ? "/" : "");
    llvm::interleave(getMembers(index), os, ",");
  }
  return key;
}

std::optional<int64_t> GroupAttr::getPosition(int64_t rank) const {
  std::optional<int64_t> index = findRank(rank);
  return index ? std::optional(*index % getSize()) : std::nullopt;
}
