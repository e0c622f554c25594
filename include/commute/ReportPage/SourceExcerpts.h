//===- SourceExcerpts.h - Python lines that a report refers to --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORTPAGE_SOURCEEXCERPTS_H
#define COMMUTE_REPORTPAGE_SOURCEEXCERPTS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

#include <map>
#include <set>
#include <string>

namespace commute::report {

/// Lines of Python files, from which excerpts are shown.
class SourceLines {
public:
  void add(llvm::StringRef file, unsigned line) {
    if (!file.empty() && line > 0)
      lines[file.str()].insert(line);
  }
  /// Adds the line of an op.
  void add(mlir::Location location);

  /// Returns the marked lines of the files that exist here, each with the lines
  /// around it: [{file, excerpts: [{first, lines}]}].
  ///
  /// An archive states the names of the files, so it must not be able to put
  /// just any file of this machine into a page that is passed on: only regular
  /// files whose names end with .py and whose sizes are moderate are read.
  llvm::json::Array readExcerpts() const;

private:
  std::map<std::string, std::set<unsigned>> lines;
};

} // namespace commute::report

#endif // COMMUTE_REPORTPAGE_SOURCEEXCERPTS_H
