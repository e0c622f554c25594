//===- Relations.cpp - relations.json -------------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Refinement/Relations.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Support/Json.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace commute;
using namespace commute::refinement;
using equivalence::IntegerUnion;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

void Mesh::add(StringRef name, Groups groups) {
  if (llvm::none_of(axes, [&](const auto &axis) { return axis.first == name; }))
    axes.emplace_back(name.str(), std::move(groups));
}

const std::vector<int64_t> *Mesh::getMembers(StringRef axis,
                                             int64_t rank) const {
  for (const auto &[name, groups] : axes) {
    if (name != axis)
      continue;
    for (const std::vector<int64_t> &members : groups)
      if (llvm::is_contained(members, rank))
        return &members;
  }
  return nullptr;
}

std::vector<int64_t> Mesh::getMembersAlong(ArrayRef<std::string> axes,
                                           int64_t rank) const {
  std::vector<int64_t> members = {rank};
  for (const std::string &axis : axes) {
    std::vector<int64_t> more;
    for (int64_t member : members)
      if (const std::vector<int64_t> *own = getMembers(axis, member))
        llvm::append_range(more, *own);
    members = std::move(more);
  }
  return members;
}

std::pair<int64_t, int64_t>
refinement::getBlock(const std::vector<int64_t> &members, int64_t rank,
                     int64_t size) {
  auto count = static_cast<int64_t>(members.size());
  int64_t index = llvm::find(members, rank) - members.begin();
  int64_t step = (size + count - 1) / count;
  return {std::min(size, step * index), std::min(size, step * (index + 1))};
}

std::vector<Relation> refinement::findShardings(const Mesh &mesh,
                                                ArrayRef<int64_t> whole,
                                                ArrayRef<int64_t> own,
                                                int64_t rank, StringRef name) {
  std::vector<Relation> found;
  if (whole.size() != own.size())
    return found;
  // Depth first over the dims that differ.
  std::vector<StringRef> used;
  auto visit = [&](auto &self, size_t dim, int64_t size,
                   const Relation &relation) -> void {
    constexpr size_t most = 16;
    if (found.size() == most)
      return;
    if (dim == own.size()) {
      found.push_back(relation);
      return;
    }
    if (size == own[dim])
      return self(self, dim + 1, dim + 1 < own.size() ? whole[dim + 1] : 0,
                  relation);
    for (const auto &[axis, groups] : mesh.getAxes()) {
      const std::vector<int64_t> *members = mesh.getMembers(axis, rank);
      if (!members || members->size() < 2 || llvm::is_contained(used, axis))
        continue;
      auto [start, end] = getBlock(*members, rank, size);
      if (end - start < own[dim])
        continue;
      used.push_back(axis);
      self(self, dim, end - start,
           Relation::makeShard(relation, static_cast<int64_t>(dim), axis));
      used.pop_back();
    }
  };
  visit(visit, 0, whole.empty() ? 0 : whole.front(), Relation::makeName(name));
  return found;
}

llvm::Expected<std::string> Mesh::resolve(StringRef axis) const {
  std::string listed;
  std::vector<std::string> found;
  for (const auto &[name, groups] : axes) {
    listed += (listed.empty() ? "" : ", ") + name;
    bool counts = axis.empty() ? groups.front().size() > 1 : name == axis;
    if (counts)
      found.push_back(name);
  }
  if (axis.empty() && found.empty() && axes.size() == 1)
    return axes.front().first;
  if (found.size() == 1)
    return found.front();
  if (!axis.empty())
    return llvm::createStringError("there is no mesh axis " + quoted(axis) +
                                   "; the axes are " +
                                   (listed.empty() ? "none" : listed));
  return llvm::createStringError(found.empty()
                                     ? "the mesh has no axis; state \"mesh\""
                                     : "which axis? The mesh has " + listed);
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

namespace {
/// Reads one document. Errors name the key.
class RelationsReader {
public:
  explicit RelationsReader(StringRef origin) : origin(origin) {}
  llvm::Expected<StatedRelations> read(JsonValue root);

private:
  llvm::Error fail(const Twine &message) const {
    return llvm::createStringError(origin + ": " + message);
  }
  static std::string getString(JsonValue value) {
    std::string storage;
    return value.getString(storage).value_or(StringRef()).str();
  }
  llvm::Error expect(JsonValue value, JsonKind kind, const Twine &key) const {
    if (value.is(kind))
      return llvm::Error::success();
    return fail(key + " is " + describeKind(value.kind()) + ", expected " +
                describeKind(kind));
  }
  llvm::Error readMesh(JsonValue mesh);
  llvm::Error readInputs(JsonValue inputs, const Twine &key,
                         StatedRelations::Inputs &result);
  llvm::Error readOutputs(JsonValue outputs);
  llvm::Error readRanges(JsonValue ranges);

  StringRef origin;
  StatedRelations result;
};
} // namespace

llvm::Error RelationsReader::readMesh(JsonValue mesh) {
  if (llvm::Error error = expect(mesh, JsonKind::Object, "mesh"))
    return error;
  for (auto axis = mesh.begin(); axis != mesh.end(); ++axis) {
    std::string name = getString(axis.key());
    std::string key = "mesh." + name;
    if (llvm::Error error = expect(*axis, JsonKind::Array, key))
      return error;
    Mesh::Groups groups;
    llvm::DenseSet<int64_t> seen;
    // One list of ranks is the only group of the axis.
    bool isFlat = (*axis).size() > 0 && !(*(*axis).begin()).is(JsonKind::Array);
    auto readRanks = [&](JsonValue ranks) -> llvm::Error {
      if (llvm::Error error = expect(ranks, JsonKind::Array, key))
        return error;
      std::vector<int64_t> &members = groups.emplace_back();
      for (JsonValue rank : ranks) {
        std::optional<int64_t> number = rank.getInteger();
        if (!number || *number < 0 || *number >= tp::GroupAttr::maxRanks)
          return fail(key + ": " + rank.text() + " is not a rank");
        if (!seen.insert(*number).second)
          return fail(key + ": rank " + Twine(*number) + " is listed twice");
        members.push_back(*number);
      }
      if (members.empty() || members.size() != groups.front().size())
        return fail(key + ": the groups of an axis have the same size, of at "
                          "least one rank");
      return llvm::Error::success();
    };
    if (isFlat) {
      if (llvm::Error error = readRanks(*axis))
        return error;
    } else {
      for (JsonValue group : *axis)
        if (llvm::Error error = readRanks(group))
          return error;
    }
    if (groups.empty())
      return fail(key + " has no groups");
    result.mesh.add(name, std::move(groups));
  }
  return llvm::Error::success();
}

llvm::Error RelationsReader::readInputs(JsonValue inputs, const Twine &key,
                                        StatedRelations::Inputs &own) {
  std::string text = key.str();
  if (llvm::Error error = expect(inputs, JsonKind::Object, text))
    return error;
  for (auto entry = inputs.begin(); entry != inputs.end(); ++entry) {
    std::string name = getString(entry.key());
    if (llvm::Error error = expect(*entry, JsonKind::String, text + "." + name))
      return error;
    llvm::Expected<Relation> relation = parseRelation(getString(*entry));
    if (!relation)
      return fail(text + "." + name + ": " +
                  llvm::toString(relation.takeError()));
    own[name] = std::move(*relation);
  }
  return llvm::Error::success();
}

llvm::Error RelationsReader::readOutputs(JsonValue outputs) {
  if (llvm::Error error = expect(outputs, JsonKind::Object, "outputs"))
    return error;
  for (auto entry = outputs.begin(); entry != outputs.end(); ++entry) {
    std::string name = getString(entry.key());
    std::string key = "outputs." + name;
    StatedRelations::Output output;
    JsonValue relation = *entry;
    if (relation.is(JsonKind::Object)) {
      for (auto member = relation.begin(); member != relation.end(); ++member)
        if (std::string known = getString(member.key());
            known != "output" && known != "relation")
          return fail(key + ": unknown key " + quoted(known) +
                      "; expected \"output\" and \"relation\"");
      JsonValue own = relation.get("output");
      if (own)
        output.output =
            own.is(JsonKind::String) ? getString(own) : own.text().str();
      relation = relation.get("relation");
      if (!relation)
        return fail(key + " has no \"relation\"");
    }
    if (llvm::Error error = expect(relation, JsonKind::String, key))
      return error;
    std::string text = getString(relation);
    StringRef gradient = StringRef(text).trim();
    if (gradient.consume_front("gradient(") && gradient.consume_back(")")) {
      output.gradientOf = gradient.trim().str();
    } else if (StringRef(text).trim() != "any") {
      llvm::Expected<Relation> parsed = parseOutputRelation(text);
      if (!parsed)
        return fail(key + ": " + llvm::toString(parsed.takeError()));
      output.relation = std::move(*parsed);
    }
    result.outputs[name] = std::move(output);
  }
  return llvm::Error::success();
}

/// Reads [FIRST, END], the integers from FIRST up to, but not including, END.
/// Returns the empty set for anything else.
static IntegerUnion readInterval(JsonValue value) {
  if (!value.is(JsonKind::Array) || value.size() != 2)
    return {};
  std::vector<int64_t> bounds;
  for (JsonValue bound : value)
    if (std::optional<int64_t> number = bound.getInteger())
      bounds.push_back(*number);
  return bounds.size() == 2 ? IntegerUnion(bounds[0], bounds[1])
                            : IntegerUnion();
}

/// Reads an interval, or a list of intervals and single integers.
static IntegerUnion readIntegers(JsonValue value) {
  if (IntegerUnion interval = readInterval(value); !interval.isEmpty())
    return interval;
  if (!value.is(JsonKind::Array))
    return {};
  IntegerUnion all;
  for (JsonValue element : value) {
    IntegerUnion own = readInterval(element);
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    if (std::optional<int64_t> number = element.getInteger();
        number && *number < most)
      own = {*number, *number + 1};
    if (own.isEmpty())
      return {};
    all = all.unite(own);
  }
  return all;
}

llvm::Error RelationsReader::readRanges(JsonValue ranges) {
  if (llvm::Error error = expect(ranges, JsonKind::Object, "ranges"))
    return error;
  for (auto entry = ranges.begin(); entry != ranges.end(); ++entry) {
    std::string name = getString(entry.key());
    IntegerUnion legal = readIntegers(*entry);
    if (legal.isEmpty())
      return fail("ranges." + name + " is " + (*entry).text() +
                  ", expected [FIRST, END] with FIRST < END, or a list of such "
                  "ranges and single integers: [[0, 12], -100]");
    result.ranges[name] = std::move(legal);
  }
  return llvm::Error::success();
}

llvm::Expected<StatedRelations> RelationsReader::read(JsonValue root) {
  if (llvm::Error error = expect(root, JsonKind::Object, "the document"))
    return std::move(error);
  JsonValue version = root.get("version");
  if (version && version.getInteger() != 1)
    return fail("version is " + version.text() + ", expected 1");
  for (auto entry = root.begin(); entry != root.end(); ++entry) {
    std::string key = getString(entry.key());
    llvm::Error error = llvm::Error::success();
    if (key == "mesh") {
      error = readMesh(*entry);
    } else if (key == "inputs") {
      error = readInputs(*entry, key, result.inputs);
    } else if (key == "inputs_of_rank") {
      error = expect(*entry, JsonKind::Array, key);
      if (!error)
        for (JsonValue own : *entry) {
          std::string name =
              key + "[" + std::to_string(result.inputsOfRank.size()) + "]";
          error = readInputs(own, name, result.inputsOfRank.emplace_back());
          if (error)
            break;
        }
    } else if (key == "outputs") {
      error = readOutputs(*entry);
    } else if (key == "ranges") {
      error = readRanges(*entry);
    } else if (key == "premises") {
      error = expect(*entry, JsonKind::Array, key);
      if (!error)
        for (JsonValue premise : *entry) {
          error = expect(premise, JsonKind::String, "an entry of premises");
          if (error)
            break;
          result.premises.push_back(getString(premise));
        }
    } else if (key != "version") {
      error = fail("unknown key " + quoted(key) +
                   "; expected version, mesh, inputs, inputs_of_rank, outputs, "
                   "ranges or premises");
    }
    if (error)
      return std::move(error);
  }
  return std::move(result);
}

llvm::Expected<StatedRelations> refinement::parseRelations(std::string text,
                                                           StringRef origin) {
  JsonLimits limits;
  limits.maxBytes = uint64_t(256) << 20;
  llvm::Expected<std::unique_ptr<JsonDocument>> document =
      JsonDocument::parse(std::move(text), limits);
  if (!document)
    return llvm::createStringError(origin + ": " +
                                   llvm::toString(document.takeError()));
  return RelationsReader(origin).read((*document)->root());
}
