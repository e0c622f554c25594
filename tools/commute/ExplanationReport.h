//===- ExplanationReport.h - output of commute explain ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_EXPLANATIONREPORT_H
#define COMMUTE_TOOLS_COMMUTE_EXPLANATIONREPORT_H

#include "commute/Compiler/Explanation.h"

#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

/// The rows that the user asks for.
struct RowFilter {
  /// A name or a glob pattern such as "all_reduce*"; empty for all nodes.
  std::string node;
  std::string pass;
  bool isRefusedOnly = false;
};

/// Removes the rows that the filter does not match. The error is about the
/// pattern, or says that nothing matches.
llvm::Error applyFilter(const RowFilter &filter,
                        compiler::Explanation &explanation);

/// Prints the steps, the remedies that would gain most, and all rows.
void print(const compiler::Explanation &explanation, llvm::StringRef origin,
           llvm::raw_ostream &os);

/// Returns the sites of a node. The error names similar nodes if there are
/// none.
llvm::Expected<std::vector<DecisionRecord::Site>>
findStory(const compiler::Explanation &explanation, llvm::StringRef node);
/// Prints every law that was tried at these sites, in order.
void printStory(llvm::ArrayRef<DecisionRecord::Site> sites,
                llvm::raw_ostream &os);
llvm::json::Array storyToJson(llvm::ArrayRef<DecisionRecord::Site> sites);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_EXPLANATIONREPORT_H
