//===- RemarkCollector.h - remarks of passes --------------------*- C++ -*-===//
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
  /// The rewrite was made.
  Applied,
  /// The rewrite was considered but not made.
  Refused,
  /// A fact because of which no rewrite was considered.
  Noted,
};
/// Returns "applied", "refused" or "noted".
llvm::StringRef describe(Verdict verdict);

/// One remark, with the node and the line of Python that it refers to.
struct RemarkEntry {
  Verdict verdict;
  std::string pass;
  std::string name;
  std::string node;
  std::string file;
  unsigned line = 0;
  std::string message;
  std::string suggestion;

  /// Returns "model.py:12", or an empty string if the source is unknown.
  std::string getSource() const;
};

/// Returns the entry for a pass that failed and was therefore skipped.
RemarkEntry describeFailure(llvm::StringRef pass, std::string message);

/// Collects the remarks of a context, from the call of `attach` on.
class RemarkCollector {
public:
  /// Installs the collector as the context's remark engine.
  mlir::LogicalResult attach(mlir::MLIRContext &context);

  llvm::ArrayRef<RemarkEntry> getEntries() const { return *entries; }
  void add(RemarkEntry entry) { entries->push_back(std::move(entry)); }
  void clear() { entries->clear(); }
  /// Keeps only the first `count` entries.
  void keepFirst(size_t count) {
    entries->erase(entries->begin() + static_cast<std::ptrdiff_t>(count),
                   entries->end());
  }
  /// Removes repetitions: the graphs of all ranks get the same remarks.
  void removeRepeated();
  /// Prints the remarks grouped by pass.
  void print(llvm::raw_ostream &os) const;
  llvm::json::Array toJson() const;

private:
  // Shared, because the streamer that fills it is owned by the remark engine
  // and may outlive the collector.
  std::shared_ptr<std::vector<RemarkEntry>> entries =
      std::make_shared<std::vector<RemarkEntry>>();
};

/// Returns, for example, "node (model.py:12)".
std::string describeLocation(mlir::Location location);
/// Gets the graph name and the innermost Python line of a location; "" and 0 if
/// the location has none.
void describeLocation(mlir::Location location, std::string &node,
                      std::string &file, unsigned &line);

} // namespace commute::report

#endif // COMMUTE_REPORT_REMARKCOLLECTOR_H
