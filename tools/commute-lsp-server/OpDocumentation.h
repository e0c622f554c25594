//===- OpDocumentation.h - what the reference says of an op -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTELSPSERVER_OPDOCUMENTATION_H
#define COMMUTE_TOOLS_COMMUTELSPSERVER_OPDOCUMENTATION_H

#include "llvm/ADT/StringRef.h"

namespace commute {

/// The text of docs/reference/dialect.md, which mlir-tblgen makes of the op
/// definitions. CMake generates the definition.
llvm::StringRef getDialectReference();

/// Returns the part of `reference` that describes the op `name`, such as
/// "tp.all_gather": its summary, syntax and description as Markdown, without
/// the heading and the tables of operands. Empty where it has no such op.
llvm::StringRef findOpDocumentation(llvm::StringRef reference,
                                    llvm::StringRef name);

} // namespace commute

#endif // COMMUTE_TOOLS_COMMUTELSPSERVER_OPDOCUMENTATION_H
