//===- NameChecks.cpp - names are defined once and before use -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GraphParser.h"

#include "commute/Archive/Program.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"

namespace commute::archive {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

namespace {

class NameChecker {
public:
  NameChecker(SchemaReader &reader, const Graph &graph)
      : reader(reader), graph(graph) {}

  LogicalResult check(const Location &location);

private:
  LogicalResult define(const Argument &argument, const Location &location,
                       int64_t definer);
  LogicalResult checkUses(const Argument &argument, const Location &location,
                          int64_t user);
  std::string describeDefiner(int64_t definer) const;

  /// Marks names that a graph input defines rather than a node.
  static constexpr int64_t graphInput = -1;

  SchemaReader &reader;
  const Graph &graph;
  llvm::DenseMap<llvm::StringRef, int64_t> definers;
};

} // namespace

std::string NameChecker::describeDefiner(int64_t definer) const {
  if (definer == graphInput)
    return "the graph's inputs";
  return describeNode(definer, graph.nodes[definer].name);
}

LogicalResult NameChecker::define(const Argument &argument,
                                  const Location &location, int64_t definer) {
  LogicalResult result = success();
  argument.forEachValue([&](const Argument &value) {
    if (failed(result))
      return;
    auto [found, isNew] = definers.try_emplace(value.text, definer);
    if (!isNew)
      result = reader.fail(location, "the name " + quoted(value.text) +
                                         " is already defined by " +
                                         describeDefiner(found->second) +
                                         "; names are unique in a graph");
    else if (value.tag == ArgumentTag::Tensor &&
             !graph.tensorValues.contains(value.text))
      result =
          reader.fail(location, "the tensor " + quoted(value.text) +
                                    " has no entry in graph.tensor_values");
  });
  return result;
}

LogicalResult NameChecker::checkUses(const Argument &argument,
                                     const Location &location, int64_t user) {
  LogicalResult result = success();
  argument.forEachValue([&](const Argument &value) {
    if (failed(result))
      return;
    auto found = definers.find(value.text);
    if (found == definers.end()) {
      // A custom object may also name a constant of the archive.
      if (value.tag != ArgumentTag::CustomObject)
        result = reader.fail(location, "use of " + quoted(value.text) +
                                           ", which neither an input nor a "
                                           "node defines");
      return;
    }
    if (found->second >= user)
      result = reader.fail(location, "use of " + quoted(value.text) +
                                         " before its definition at " +
                                         describeDefiner(found->second));
  });
  return result;
}

LogicalResult NameChecker::check(const Location &location) {
  Location inputsLocation(location, "inputs");
  for (auto [index, input] : llvm::enumerate(graph.inputs))
    if (failed(define(input, Location(inputsLocation, index), graphInput)))
      return failure();
  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    Location nodeLocation = Location::node(index, node.name);
    Location outputsLocation(nodeLocation, "outputs");
    for (auto [position, output] : llvm::enumerate(node.outputs))
      if (failed(define(output, Location(outputsLocation, position), index)))
        return failure();
  }

  for (auto [index, node] : llvm::enumerate(graph.nodes)) {
    Location nodeLocation = Location::node(index, node.name);
    Location nodeInputsLocation(nodeLocation, "inputs");
    for (auto [position, input] : llvm::enumerate(node.inputs)) {
      Location inputLocation(nodeInputsLocation, position);
      if (failed(checkUses(input.value, Location(inputLocation, "arg"), index)))
        return failure();
    }
  }
  Location outputsLocation(location, "outputs");
  for (auto [index, output] : llvm::enumerate(graph.outputs))
    if (failed(checkUses(output, Location(outputsLocation, index),
                         graph.nodes.size())))
      return failure();
  return success();
}

LogicalResult checkNames(SchemaReader &reader, const Graph &graph,
                         const Location &location) {
  return NameChecker(reader, graph).check(location);
}

llvm::Error checkNames(const Program &program) {
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver strings(allocator);
  SchemaReader reader(strings);
  if (failed(checkNames(reader, program.graph, Location())))
    return llvm::createStringError(program.origin + ": " + reader.message());
  return llvm::Error::success();
}

} // namespace commute::archive
