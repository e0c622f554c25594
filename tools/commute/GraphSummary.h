//===- GraphSummary.h - summary of a graph ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_GRAPHSUMMARY_H
#define COMMUTE_TOOLS_COMMUTE_GRAPHSUMMARY_H

#include "PlacementProblems.h"

#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/ReplicatedWork.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <string>
#include <vector>

namespace commute::tool {

struct GroupLine {
  std::string name;
  /// For example "[0, 1]", "0-4095" or "unknown".
  std::string members;
  int64_t size = 0;
  bool isKnown = true;
};

struct CollectiveSummary {
  std::string kind;
  std::string node;
  std::string source;
  std::string group;
  int64_t groupSize = 0;
  std::string type;
  /// Bytes of the operand on one rank, for the sizes at capture; nullopt if a
  /// size is unknown.
  std::optional<int64_t> bytes;
};

struct GraphSummary {
  std::map<std::string, size_t> inputsByKind;
  size_t numOutputs = 0;
  size_t numOps = 0;
  /// Number of modelled ops by name, and of opaque ones by PyTorch operator.
  std::map<std::string, size_t> modelled;
  std::map<std::string, size_t> opaque;
  /// Number of operators on sizes, and of assertions: types state what they
  /// find.
  std::map<std::string, size_t> withoutKernel;
  std::vector<CollectiveSummary> collectives;
  /// Sorted by name, then by members.
  std::vector<GroupLine> groups;
  /// Inputs without a stated placement.
  std::vector<std::string> unplacedInputs;
  std::vector<PlacementProblem> placementProblems;
  std::vector<std::string> assumptions;
  std::map<std::string, int64_t> symbols;
  /// Constants that differ between ranks, such as "lt: 0 on rank 0, 128 on rank
  /// 1".
  std::vector<std::string> constantsOfRanks;
  /// What all ranks compute alike on the default target, if that is known.
  std::optional<compiler::ReplicatedWork> replicated;
  /// What the sidecar says to the user of the program.
  std::vector<std::string> notes;
};

GraphSummary summarize(const compiler::LoadedProgram &program);
void print(const GraphSummary &summary, llvm::raw_ostream &os);
llvm::json::Object toJson(const GraphSummary &summary);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_GRAPHSUMMARY_H
