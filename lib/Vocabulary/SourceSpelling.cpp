//===- SourceSpelling.cpp - operators of rewritten nodes ------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SourceSpelling.h"

#include "ElementTypes.h"
#include "FunctionArguments.h"
#include "GraphFacts.h"
#include "NodeReader.h"
#include "SymbolicExpression.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::Node;

namespace {
/// The graph as the reader of one node would see it after the rewrite.
class RewrittenGraph : public GraphReader {
public:
  RewrittenGraph(const archive::Graph &graph,
                 const llvm::DenseSet<StringRef> &usedNames,
                 const SourceSpelling::NamedValues &operands,
                 const SourceSpelling::NamedValues &results,
                 MLIRContext *context)
      : graph(graph), usedNames(usedNames), operands(operands),
        results(results), symbols(context) {}

  Value getValue(StringRef name) override { return operands.lookup(name); }
  RankedTensorType getTensorType(StringRef name) override {
    Value value = operands.lookup(name);
    if (!value)
      value = results.lookup(name);
    return value ? dyn_cast<RankedTensorType>(value.getType())
                 : RankedTensorType();
  }
  bool isUsed(StringRef name) override { return usedNames.contains(name); }
  bool areOnSameDevice(StringRef a, StringRef b) override {
    return vocabulary::areOnSameDevice(graph, a, b);
  }
  // Operators with groups are never spelled by several ops.
  tp::GroupAttr getGroup(StringRef, std::string &error) override {
    error = "a group";
    return {};
  }
  tp::GroupAttr getGroupOfRanks(ArrayRef<int64_t>) override { return {}; }
  StringRef getGroupLimitation() override { return {}; }
  tp::SymbolSpace &getSymbols() override { return symbols; }
  tp::Size getNumber(StringRef name) override {
    return ::commute::vocabulary::getNumber(graph, name, symbols);
  }
  bool noteRank(int64_t) override { return false; }

private:
  const archive::Graph &graph;
  const llvm::DenseSet<StringRef> &usedNames;
  const SourceSpelling::NamedValues &operands, &results;
  tp::SymbolSpace symbols;
};

/// Compares ops that a reader has made with those of a program.
class OpMatcher {
public:
  explicit OpMatcher(ArrayRef<Operation *> made)
      : made(made.begin(), made.end()) {}

  bool match(Value ours, Value current) {
    Operation *op = ours.getDefiningOp(), *other = current.getDefiningOp();
    if (!made.contains(op))
      return ours == current;
    if (!other || cast<OpResult>(ours).getResultNumber() !=
                      cast<OpResult>(current).getResultNumber())
      return false;
    auto [known, isNew] = matched.try_emplace(op, other);
    if (!isNew)
      return known->second == other;
    return op->getName() == other->getName() &&
           op->getResultTypes() == other->getResultTypes() &&
           op->getNumOperands() == other->getNumOperands() &&
           op->getName().compareOpProperties(op->getPropertiesStorage(),
                                             other->getPropertiesStorage()) &&
           llvm::all_of(llvm::zip(op->getOperands(), other->getOperands()),
                        [&](auto pair) {
                          return match(std::get<0>(pair), std::get<1>(pair));
                        });
  }

private:
  llvm::SmallPtrSet<Operation *, 8> made;
  llvm::SmallDenseMap<Operation *, Operation *> matched;
};
} // namespace

SourceSpelling::SourceSpelling(const archive::Graph &graph,
                               const Vocabulary &vocabulary)
    : graph(graph), vocabulary(vocabulary) {}

/// Returns true if values have the element types that the graph states.
static bool haveStatedTypes(const archive::Graph &graph,
                            const SourceSpelling::NamedValues &values) {
  return llvm::all_of(values, [&](const auto &entry) {
    auto meta = graph.tensorValues.find(entry.first);
    auto type = dyn_cast<RankedTensorType>(entry.second.getType());
    return meta != graph.tensorValues.end() && type &&
           getScalarType(type.getElementType()) == meta->second.dtype;
  });
}

bool SourceSpelling::isCall(const Node &node, const NamedValues &operands,
                            const NamedValues &results, Operation *op) {
  // Functions take arguments in several ways, and have writers of their own.
  const OperatorEntry *entry = vocabulary.find(node.target);
  if (isFunctionCall(node) || !entry || !entry->read ||
      !hasKnownArguments(node, *entry))
    return false;
  // Arguments may state them.
  if (!haveStatedTypes(graph, operands) || !haveStatedTypes(graph, results))
    return false;
  if (usedNames.empty())
    usedNames = getUsedNames(graph);
  RewrittenGraph rewritten(graph, usedNames, operands, results,
                           op->getContext());
  OpBuilder builder(op);
  NodeReader reader(rewritten, node, *entry, /*alias=*/nullptr, builder,
                    op->getLoc());
  llvm::scope_exit erase([&] { reader.eraseCreated(); });
  // Arguments that the types determine, such as sizes, may have changed.
  if (failed(entry->read(reader)) || reader.skipsArguments() ||
      reader.findUnread())
    return false;
  // The writer of the only op says all of it.
  if (reader.getCreated().size() == 1)
    return false;
  OpMatcher matcher(reader.getCreated());
  return llvm::all_of(
      llvm::zip_equal(reader.getResultNames(), reader.getResults()),
      [&](auto pair) {
        auto [name, value] = pair;
        Value current = results.lookup(name);
        return value && current && matcher.match(value, current);
      });
}
