//===- RemarkCollector.h - what passes did and did not do -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORT_REMARKCOLLECTOR_H
#define COMMUTE_REPORT_REMARKCOLLECTOR_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace commute::report {

enum class Verdict {
  /// A rewrite was made.
  Applied,
  /// A rewrite was considered and refused.
  Refused,
  /// A fact that decided that nothing is to be done.
  Noted,
};
llvm::StringRef describe(Verdict verdict);

/// One remark, tied to the node and the line of Python that it is about.
struct RemarkEntry {
  Verdict verdict;
  std::string pass;
  std::string name;
  std::string node;
  std::string file;
  unsigned line = 0;
  std::string message;
  std::string suggestion;

  /// "model.py:12", or "" where the source is not known.
  std::string getSource() const;
};

/// Says that a pass failed, and was left out.
RemarkEntry describeFailure(llvm::StringRef pass, std::string message);

/// Collects the remarks of a context from the call of `attach` on.
class RemarkCollector {
public:
  mlir::LogicalResult attach(mlir::MLIRContext &context);

  llvm::ArrayRef<RemarkEntry> getEntries() const { return *entries; }
  void add(RemarkEntry entry) { entries->push_back(std::move(entry)); }
  void clear() { entries->clear(); }
  void print(llvm::raw_ostream &os) const;
  llvm::json::Array toJson() const;

private:
  // The engine owns the streamer that fills this and may outlive the collector.
  std::shared_ptr<std::vector<RemarkEntry>> entries =
      std::make_shared<std::vector<RemarkEntry>>();
};

/// "node (model.py:12)".
std::string describeLocation(mlir::Location location);
/// The graph name and the innermost Python line of a location; empty and 0
/// where it has none.
void describeLocation(mlir::Location location, std::string &node,
                      std::string &file, unsigned &line);

/// One HTML page, complete in itself: a summary and a table of all remarks.
std::string
renderHtml(llvm::StringRef title,
           llvm::ArrayRef<std::pair<std::string, std::string>> facts,
           llvm::ArrayRef<RemarkEntry> entries);

} // namespace commute::report

#endif // COMMUTE_REPORT_REMARKCOLLECTOR_H
