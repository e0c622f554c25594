//===- EmbeddedFile.h - files that a library holds --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_SUPPORT_EMBEDDEDFILE_H
#define COMMUTE_SUPPORT_EMBEDDEDFILE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace commute {

/// A file whose text a library holds, so that it needs no files at run time.
/// CMake generates arrays of them; see commute_embed_json_files.
struct EmbeddedFile {
  /// Without folder and ending.
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};

} // namespace commute

#endif // COMMUTE_SUPPORT_EMBEDDEDFILE_H
