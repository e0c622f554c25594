//===- DistributedContext.cpp - groups, ranks and placements ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/DistributedContext.h"

#include "commute/Dialect/SizeAssumption.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Support/Json.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

using namespace commute;
using namespace commute::vocabulary;
using llvm::createStringError;
using llvm::StringRef;
using llvm::Twine;

static constexpr int64_t maxRanks = tp::GroupAttr::maxRanks;

static llvm::Error checkGroup(StringRef name, const GroupRanks &groups) {
  llvm::DenseSet<int64_t> seen;
  if (groups.empty() || groups.front().empty())
    return createStringError("group '" + name + "' has no ranks");
  for (const std::vector<int64_t> &members : groups) {
    if (members.size() != groups.front().size())
      return createStringError("the groups of axis '" + name +
                               "' have different sizes");
    for (int64_t rank : members) {
      if (rank < 0 || rank >= maxRanks)
        return createStringError("group '" + name + "': " + Twine(rank) +
                                 " is not a rank");
      if (!seen.insert(rank).second)
        return createStringError("group '" + name + "': rank " + Twine(rank) +
                                 " is listed twice");
    }
  }
  return llvm::Error::success();
}

static llvm::Error checkPlacement(StringRef text) {
  auto isNumber = [](StringRef digits) {
    unsigned value;
    return !digits.trim().getAsInteger(10, value);
  };
  StringRef rest = text.trim();
  if (rest == "replicated" || rest == "varying")
    return llvm::Error::success();
  if (rest.consume_back(")")) {
    if (rest.consume_front("shard(") && isNumber(rest))
      return llvm::Error::success();
    if (rest.consume_front("partial(") &&
        llvm::is_contained({"sum", "avg", "max", "min", "product"},
                           rest.trim()))
      return llvm::Error::success();
  }
  return createStringError("'" + text +
                           "' is not a placement; expected replicated, "
                           "shard(DIM), partial(sum|avg|max|min|product) or "
                           "varying");
}

llvm::raw_ostream &vocabulary::operator<<(llvm::raw_ostream &os,
                                          const RankConstant &constant) {
  os << constant.node << ' ' << constant.argument << ": ";
  constexpr size_t maxListed = 4;
  size_t index = 0;
  for (const auto &[rank, value] : constant.values) {
    if (index == maxListed)
      return os << ", ...";
    os << (index++ == 0 ? "" : ", ") << value << " on rank " << rank;
  }
  return os;
}

//===----------------------------------------------------------------------===//
// Sidecar
//===----------------------------------------------------------------------===//

namespace {
/// Parses one sidecar. Every method reports errors with the JSON key.
class SidecarReader {
public:
  explicit SidecarReader(StringRef origin) : origin(origin) {}

  llvm::Expected<DistributedContext> read(StringRef text);

private:
  llvm::Error makeError(const Twine &message) {
    return createStringError(origin + ": " + message);
  }
  llvm::Expected<std::vector<int64_t>> readRanks(StringRef name,
                                                 JsonValue value);
  llvm::Error readGroups(JsonValue groups, DistributedContext &context);
  llvm::Error readInputs(JsonValue inputs, DistributedContext &context);
  llvm::Error readConstants(JsonValue constants, DistributedContext &context);
  llvm::Error readSizeRanges(JsonValue ranges, DistributedContext &context);

  StringRef origin;
};
} // namespace

static std::string getText(JsonValue value) {
  std::string storage;
  return value.getString(storage).value_or(StringRef()).str();
}

llvm::Expected<std::vector<int64_t>> SidecarReader::readRanks(StringRef name,
                                                              JsonValue value) {
  std::vector<int64_t> ranks;
  for (JsonValue rank : value) {
    std::optional<int64_t> number = rank.getInteger();
    if (!number)
      return makeError("groups." + name + ".ranks: " + rank.text() +
                       " is not a rank");
    ranks.push_back(*number);
  }
  return ranks;
}

llvm::Error SidecarReader::readGroups(JsonValue groups,
                                      DistributedContext &context) {
  if (!groups.is(JsonKind::Object))
    return makeError("\"groups\" must be an object");
  for (auto it = groups.begin(); it != groups.end(); ++it) {
    std::string name = getText(it.key());
    JsonValue ranks =
        (*it).is(JsonKind::Object) ? (*it).get("ranks") : JsonValue();
    if (!ranks || !ranks.is(JsonKind::Array))
      return makeError("groups." + name +
                       " lacks the list \"ranks\"; expected, for example, "
                       "{\"ranks\": [0, 1, 2, 3]}");
    GroupRanks result;
    bool isAxis = ranks.size() > 0 && (*ranks.begin()).is(JsonKind::Array);
    if (!isAxis) {
      llvm::Expected<std::vector<int64_t>> members = readRanks(name, ranks);
      if (!members)
        return members.takeError();
      result.push_back(std::move(*members));
    } else {
      for (JsonValue group : ranks) {
        if (!group.is(JsonKind::Array))
          return makeError("groups." + name +
                           ".ranks mixes ranks and lists of ranks");
        llvm::Expected<std::vector<int64_t>> members = readRanks(name, group);
        if (!members)
          return members.takeError();
        result.push_back(std::move(*members));
      }
    }
    if (llvm::Error error = checkGroup(name, result))
      return makeError(llvm::toString(std::move(error)));
    context.groups[name] = std::move(result);
    if (JsonValue processGroup = (*it).get("process_group")) {
      if (!processGroup.is(JsonKind::String) || getText(processGroup).empty())
        return makeError("groups." + name +
                         ".process_group must be the name of a process group "
                         "of PyTorch, such as \"0\"");
      context.processGroups[name] = getText(processGroup);
    }
  }
  return llvm::Error::success();
}

llvm::Error SidecarReader::readInputs(JsonValue inputs,
                                      DistributedContext &context) {
  if (!inputs.is(JsonKind::Object))
    return makeError("\"inputs\" must be an object");
  for (auto input = inputs.begin(); input != inputs.end(); ++input) {
    std::string name = getText(input.key());
    if (!(*input).is(JsonKind::Object))
      return makeError(
          "inputs." + name +
          " must be an object that maps group names to placements");
    JsonValue placements = *input;
    for (auto it = placements.begin(); it != placements.end(); ++it) {
      std::string group = getText(it.key());
      if (!(*it).is(JsonKind::String))
        return makeError("inputs." + name + "." + group + " must be a string");
      std::string placement = getText(*it);
      if (llvm::Error error = checkPlacement(placement))
        return makeError("inputs." + name + "." + group + ": " +
                         llvm::toString(std::move(error)));
      context.inputs[name][group] = placement;
    }
  }
  return llvm::Error::success();
}

llvm::Error SidecarReader::readConstants(JsonValue constants,
                                         DistributedContext &context) {
  auto fail = [&] {
    return makeError("\"constants_of_rank\" must be a list of objects such as "
                     "{\"node\": \"lt\", \"argument\": \"other\", "
                     "\"values\": {\"0\": 0, \"1\": 128}}");
  };
  if (!constants.is(JsonKind::Array))
    return fail();
  for (JsonValue entry : constants) {
    if (!entry.is(JsonKind::Object) || !entry.get("node") ||
        !entry.get("argument") || !entry.get("values") ||
        !entry.get("values").is(JsonKind::Object))
      return fail();
    RankConstant &constant = context.constantsOfRank.emplace_back();
    constant.node = getText(entry.get("node"));
    constant.argument = getText(entry.get("argument"));
    JsonValue values = entry.get("values");
    for (auto it = values.begin(); it != values.end(); ++it) {
      int64_t rank;
      if (StringRef(getText(it.key())).getAsInteger(10, rank) || rank < 0)
        return fail();
      // Lists may stand on many lines.
      llvm::SmallVector<StringRef> words;
      llvm::SplitString((*it).text(), words, " \n\r\t");
      constant.values[rank] = llvm::join(words, " ");
    }
  }
  return llvm::Error::success();
}

llvm::Error SidecarReader::readSizeRanges(JsonValue ranges,
                                          DistributedContext &context) {
  auto fail = [&] {
    return makeError(
        "\"size_ranges\" must map symbolic sizes to their smallest "
        "and largest value, for example {\"s0\": [16, 64]}");
  };
  if (!ranges.is(JsonKind::Object))
    return fail();
  for (auto it = ranges.begin(); it != ranges.end(); ++it) {
    llvm::SmallVector<int64_t, 2> ends;
    for (JsonValue end : *it)
      ends.push_back(end.getInteger().value_or(-1));
    if (!(*it).is(JsonKind::Array) || ends.size() != 2 || ends[0] < 0 ||
        ends[0] > ends[1])
      return fail();
    std::string symbol = getText(it.key());
    context.sizeRanges[symbol] = {ends[0], ends[1]};
    for (const char *relation : {" >= ", " <= "})
      if (llvm::Error error = addAssumptionOption(
              context,
              symbol + relation +
                  std::to_string(relation[1] == '>' ? ends[0] : ends[1])))
        return makeError(llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

llvm::Expected<DistributedContext> SidecarReader::read(StringRef text) {
  llvm::Expected<std::unique_ptr<JsonDocument>> document =
      JsonDocument::parse(text.str());
  if (!document)
    return makeError(llvm::toString(document.takeError()));
  JsonValue root = (*document)->root();
  if (!root.is(JsonKind::Object))
    return makeError("a sidecar must be a JSON object");
  JsonValue version = root.get("version");
  if (!version || version.getInteger() != 1)
    return makeError(
        "\"version\" is missing or not 1, the only version that Commute reads");
  DistributedContext context;
  if (JsonValue rank = root.get("rank"); rank && !rank.is(JsonKind::Null)) {
    context.rank = rank.getInteger();
    if (!context.rank || *context.rank < 0)
      return makeError("\"rank\" is not a rank: " + rank.text());
  }
  if (JsonValue groups = root.get("groups"))
    if (llvm::Error error = readGroups(groups, context))
      return std::move(error);
  if (JsonValue inputs = root.get("inputs"))
    if (llvm::Error error = readInputs(inputs, context))
      return std::move(error);
  if (JsonValue constants = root.get("constants_of_rank"))
    if (llvm::Error error = readConstants(constants, context))
      return std::move(error);
  if (JsonValue notes = root.get("notes")) {
    if (!notes.is(JsonKind::Array))
      return makeError("\"notes\" must be a list of sentences");
    for (JsonValue note : notes) {
      if (!note.is(JsonKind::String))
        return makeError("\"notes\" must be a list of sentences");
      context.notes.push_back(getText(note));
    }
  }
  if (JsonValue ranges = root.get("size_ranges"))
    if (llvm::Error error = readSizeRanges(ranges, context))
      return std::move(error);
  if (JsonValue assumptions = root.get("assumptions")) {
    if (!assumptions.is(JsonKind::Array))
      return makeError("\"assumptions\" must be a list");
    for (JsonValue assumption : assumptions)
      if (llvm::Error error = addAssumptionOption(context, getText(assumption)))
        return makeError(llvm::toString(std::move(error)));
  }
  return context;
}

llvm::Expected<DistributedContext> vocabulary::parseSidecar(StringRef text,
                                                            StringRef origin) {
  return SidecarReader(origin).read(text);
}

std::string vocabulary::renderSidecar(const DistributedContext &context) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\"version\": 1";
  if (context.rank)
    os << ", \"rank\": " << *context.rank;
  os << ", \"groups\": {";
  auto printRanks = [&](const std::vector<int64_t> &ranks) {
    os << '[';
    llvm::interleaveComma(ranks, os);
    os << ']';
  };
  llvm::interleaveComma(context.groups, os, [&](const auto &group) {
    os << quoteJson(group.first) << ": {\"ranks\": ";
    if (group.second.size() == 1) {
      printRanks(group.second.front());
    } else {
      os << '[';
      llvm::interleaveComma(group.second, os, printRanks);
      os << ']';
    }
    auto processGroup = context.processGroups.find(group.first);
    if (processGroup != context.processGroups.end())
      os << ", \"process_group\": " << quoteJson(processGroup->second);
    os << '}';
  });
  os << "}, \"inputs\": {";
  llvm::interleaveComma(context.inputs, os, [&](const auto &input) {
    os << quoteJson(input.first) << ": {";
    llvm::interleaveComma(input.second, os, [&](const auto &placement) {
      os << quoteJson(placement.first) << ": " << quoteJson(placement.second);
    });
    os << '}';
  });
  os << '}';
  if (!context.assumptions.empty()) {
    os << ", \"assumptions\": [";
    llvm::interleaveComma(
        context.assumptions, os,
        [&](const std::string &assumption) { os << quoteJson(assumption); });
    os << ']';
  }
  if (!context.sizeRanges.empty()) {
    os << ", \"size_ranges\": {";
    llvm::interleaveComma(context.sizeRanges, os, [&](const auto &range) {
      os << quoteJson(range.first) << ": [" << range.second.first << ", "
         << range.second.second << ']';
    });
    os << '}';
  }
  if (!context.constantsOfRank.empty()) {
    os << ", \"constants_of_rank\": [";
    llvm::interleaveComma(
        context.constantsOfRank, os, [&](const RankConstant &constant) {
          os << "{\"node\": " << quoteJson(constant.node)
             << ", \"argument\": " << quoteJson(constant.argument)
             << ", \"values\": {";
          llvm::interleaveComma(constant.values, os, [&](const auto &value) {
            os << '"' << value.first << "\": " << value.second;
          });
          os << "}}";
        });
    os << ']';
  }
  if (!context.notes.empty()) {
    os << ", \"notes\": [";
    llvm::interleaveComma(context.notes, os, [&](const std::string &note) {
      os << quoteJson(note);
    });
    os << ']';
  }
  os << '}';
  return text;
}

//===----------------------------------------------------------------------===//
// Command line
//===----------------------------------------------------------------------===//

/// Parses ranks and ranges of ranks, such as "0-3,8".
static llvm::Expected<std::vector<int64_t>> parseRanks(StringRef text) {
  std::vector<int64_t> ranks;
  llvm::SmallVector<StringRef> items;
  text.split(items, ',');
  for (StringRef item : items) {
    auto [first, last] = item.trim().split('-');
    int64_t begin, end;
    bool isRange = item.contains('-');
    if (first.getAsInteger(10, begin) ||
        (isRange && last.getAsInteger(10, end)))
      return createStringError("'" + item +
                               "' is neither a rank nor a range "
                               "of ranks such as 0-3");
    if (!isRange)
      end = begin;
    if (end < begin || begin < 0 || end >= maxRanks)
      return createStringError("'" + item + "' is not a range of ranks");
    if (static_cast<int64_t>(ranks.size()) + end - begin >= maxRanks)
      return createStringError("there are more than " + Twine(maxRanks) +
                               " ranks");
    for (int64_t rank = begin; rank <= end; ++rank)
      ranks.push_back(rank);
  }
  return ranks;
}

llvm::Error vocabulary::addGroupOption(DistributedContext &context,
                                       StringRef option) {
  auto makeError = [&](const Twine &message) {
    return createStringError("--group=" + option + ": " + message);
  };
  // The name may contain any character but '='.
  auto [name, text] = option.rsplit('=');
  if (!option.contains('=') || name.empty())
    return makeError("expected NAME=RANKS, for example 0=0-3 or tp=0-3/4-7");
  GroupRanks groups;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, '/');
  size_t numRanks = 0;
  for (StringRef part : parts) {
    llvm::Expected<std::vector<int64_t>> ranks = parseRanks(part);
    if (!ranks)
      return makeError(llvm::toString(ranks.takeError()));
    numRanks += ranks->size();
    if (numRanks > maxRanks)
      return makeError("there are more than " + Twine(maxRanks) + " ranks");
    groups.push_back(std::move(*ranks));
  }
  if (llvm::Error error = checkGroup(name, groups))
    return makeError(llvm::toString(std::move(error)));
  context.groups[name.str()] = std::move(groups);
  context.groupOptions.insert(name.str());
  return llvm::Error::success();
}

/// LLVM's regular expressions follow all alternatives at once, so matching
/// takes time linear in the length of the name. There are two exceptions, which
/// this function rejects: back-references, which are tried one by one, and
/// bounded repetitions with large bounds, which are expanded (nested ones
/// multiply).
static llvm::Error checkPattern(StringRef pattern) {
  constexpr size_t maxLength = 1000;
  constexpr uint64_t maxRepeats = 1000;
  if (pattern.size() > maxLength)
    return createStringError("the regular expression is longer than " +
                             Twine(maxLength) + " characters");
  uint64_t repeats = 1;
  for (size_t index = 0; index < pattern.size(); ++index) {
    if (pattern[index] == '\\') {
      if (index + 1 < pattern.size() && llvm::isDigit(pattern[index + 1]))
        return createStringError(
            "the regular expression has a back-reference, which may take "
            "exponential time; name the alternatives instead");
      ++index;
    } else if (pattern[index] == '{') {
      // "{3}", "{3,}", "{3,5}": the largest number counts.
      StringRef bounds = pattern.substr(index + 1).split('}').first;
      uint64_t largest = 1;
      for (StringRef bound : llvm::split(bounds, ',')) {
        uint64_t number;
        if (!bound.getAsInteger(10, number))
          largest = std::max(largest, number);
      }
      repeats = llvm::SaturatingMultiply(repeats, largest);
    }
  }
  if (repeats > maxRepeats)
    return createStringError(
        "the regular expression repeats its parts more than " +
        Twine(maxRepeats) + " times, the limit");
  std::string problem;
  if (!llvm::Regex(pattern).isValid(problem))
    return createStringError("the regular expression is not valid: " + problem);
  return llvm::Error::success();
}

llvm::Error vocabulary::addPlacementOption(DistributedContext &context,
                                           StringRef option) {
  auto makeError = [&](const Twine &message) {
    return createStringError("--input-placement=" + option + ": " + message);
  };
  auto [pattern, rest] = option.rsplit('=');
  if (!option.contains('=') || pattern.empty())
    return makeError("expected REGEX=PLACEMENT or REGEX=PLACEMENT@GROUP");
  auto [placement, group] = rest.split('@');
  if (llvm::Error error = checkPattern(pattern))
    return makeError(llvm::toString(std::move(error)));
  if (llvm::Error error = checkPlacement(placement))
    return makeError(llvm::toString(std::move(error)));
  context.rules.push_back(
      {pattern.str(), placement.trim().str(), group.trim().str()});
  return llvm::Error::success();
}

llvm::Error vocabulary::addAssumptionOption(DistributedContext &context,
                                            StringRef option) {
  llvm::Expected<tp::SizeAssumption> assumption =
      tp::parseSizeAssumption(option);
  if (!assumption)
    return createStringError("--assume=" + option + ": " +
                             llvm::toString(assumption.takeError()));
  if (!llvm::is_contained(context.assumptions, assumption->text))
    context.assumptions.push_back(assumption->text);
  return llvm::Error::success();
}
