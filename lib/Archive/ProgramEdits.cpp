//===- ProgramEdits.cpp - writing of edited programs ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SchemaWriter.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::archive {

void ProgramEdits::keepNode(size_t index, llvm::ArrayRef<Rename> renames) {
  NodeItem &item = nodes.emplace_back();
  item.source = index;
  item.renames.assign(renames.begin(), renames.end());
}
void ProgramEdits::addNode(const Node &node) {
  nodes.emplace_back().added = node;
}
void ProgramEdits::addTensorValue(llvm::StringRef name,
                                  const TensorMeta &meta) {
  addedValues.emplace_back(name, meta);
}
void ProgramEdits::addSymIntValue(llvm::StringRef name, const SymInt &value) {
  addedNumbers.emplace_back(name, value);
}

void ProgramEdits::removeTensorValue(llvm::StringRef name) {
  removedValues.push_back(name);
}
void ProgramEdits::rename(const Rename &rename) {
  outerRenames.push_back(rename);
}

namespace {
/// A span and the text that replaces it.
struct Replacement {
  TextSpan span;
  std::string text;
};
} // namespace

/// Writes the bytes of `range` with the replacements applied. Replacements must
/// be in the range and must not overlap.
static void writeReplaced(llvm::raw_ostream &out, const JsonDocument &document,
                          TextSpan range,
                          std::vector<Replacement> replacements) {
  llvm::sort(replacements, [](const Replacement &a, const Replacement &b) {
    return a.span.begin < b.span.begin;
  });
  uint32_t next = range.begin;
  for (const Replacement &replacement : replacements) {
    assert(replacement.span.begin >= next &&
           replacement.span.end <= range.end && "edit outside of its range");
    out << document.text({next, replacement.span.begin}) << replacement.text;
    next = replacement.span.end;
  }
  out << document.text({next, range.end});
}

static std::vector<Replacement>
toReplacements(llvm::ArrayRef<ProgramEdits::Rename> renames) {
  std::vector<Replacement> result;
  result.reserve(renames.size());
  for (const ProgramEdits::Rename &rename : renames)
    result.push_back({rename.span, quoteJson(rename.name)});
  return result;
}

bool ProgramEdits::keepsNodes(const Program &program) const {
  if (nodes.size() != program.graph.nodes.size())
    return false;
  for (auto [index, item] : llvm::enumerate(nodes))
    if (item.source != index || !item.renames.empty())
      return false;
  return true;
}

bool ProgramEdits::changesNothing(const Program &program) const {
  return keepsNodes(program) && addedValues.empty() && removedValues.empty() &&
         outerRenames.empty();
}

std::string ProgramEdits::renderNodes(const Program &program) const {
  std::string result;
  llvm::raw_string_ostream out(result);
  const JsonDocument &document = *program.document;
  SchemaWriter writer(out, &document);
  out << "[";
  llvm::interleave(
      nodes,
      [&](const NodeItem &item) {
        if (!item.source)
          return writer.writeNode(item.added);
        writeReplaced(out, document, program.graph.nodes[*item.source].span,
                      toReplacements(item.renames));
      },
      [&] { out << ", "; });
  out << "]";
  return result;
}

std::string ProgramEdits::renderTensorValues(const Program &program) const {
  std::string result;
  llvm::raw_string_ostream out(result);
  SchemaWriter writer(out, program.document.get());
  // The last entry for a name is the valid one.
  llvm::DenseMap<llvm::StringRef, const TensorMeta *> added;
  for (const auto &[name, meta] : addedValues)
    added[name] = &meta;
  llvm::DenseSet<llvm::StringRef> removed(removedValues.begin(),
                                          removedValues.end());

  bool isFirst = true;
  auto separate = [&] {
    if (!isFirst)
      out << ", ";
    isFirst = false;
  };
  out << "{";
  JsonValue table = program.tensorValuesObject;
  for (auto member = table.begin(), end = table.end(); member != end;
       ++member) {
    std::string storage;
    llvm::StringRef name = *member.key().getString(storage);
    auto replacement = added.find(name);
    if (replacement == added.end()) {
      if (removed.contains(name))
        continue;
      separate();
      out << member.key().text() << ": " << (*member).text();
      continue;
    }
    separate();
    out << member.key().text() << ": ";
    writer.writeTensorMeta(*replacement->second);
    added.erase(replacement);
  }
  for (const auto &[name, meta] : addedValues) {
    auto found = added.find(name);
    if (found == added.end())
      continue;
    separate();
    out << quoteJson(name) << ": ";
    writer.writeTensorMeta(*found->second);
    added.erase(found);
  }
  out << "}";
  return result;
}

std::string ProgramEdits::renderSymIntValues(const Program &program) const {
  std::string result;
  llvm::raw_string_ostream out(result);
  SchemaWriter writer(out, program.document.get());
  JsonValue table = program.symIntValuesObject;
  bool isEmpty = !(table.begin() != table.end());
  out << table.text().rtrim().drop_back();
  for (const auto &[name, value] : addedNumbers) {
    out << (isEmpty ? "" : ", ") << quoteJson(name) << ": ";
    writer.writeSymInt(value);
    isEmpty = false;
  }
  out << "}";
  return result;
}

std::string ProgramEdits::apply(const Program &program) const {
  std::vector<Replacement> replacements = toReplacements(outerRenames);
  if (!keepsNodes(program))
    replacements.push_back({program.nodesArray.span(), renderNodes(program)});
  if (!addedValues.empty() || !removedValues.empty())
    replacements.push_back(
        {program.tensorValuesObject.span(), renderTensorValues(program)});
  if (!addedNumbers.empty())
    replacements.push_back(
        {program.symIntValuesObject.span(), renderSymIntValues(program)});
  const JsonDocument &document = *program.document;
  std::string result;
  llvm::raw_string_ostream out(result);
  writeReplaced(out, document, {0, uint32_t(document.text().size())},
                std::move(replacements));
  return result;
}

} // namespace commute::archive
