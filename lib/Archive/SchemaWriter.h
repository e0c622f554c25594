//===- SchemaWriter.h - structs of the export schema as JSON ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// New text follows PyTorch's form: that of Python's json module with ", " and
// ": " as separators, and with every field of the schema's structs.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_SCHEMAWRITER_H
#define COMMUTE_LIB_ARCHIVE_SCHEMAWRITER_H

#include "commute/Archive/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::archive {

/// Writes structs of the export schema as JSON.
class SchemaWriter {
public:
  using NameFunction =
      llvm::function_ref<std::optional<std::string>(const Argument &)>;

  /// `document` holds the text of subgraphs; null if there are none. `getName`,
  /// if given, replaces the names of values; nullopt keeps a name.
  SchemaWriter(llvm::raw_ostream &out, const JsonDocument *document,
               NameFunction getName = {})
      : out(out), document(document), getName(getName) {}

  void writeNode(const Node &node);
  void writeInputs(const Node &node);
  void writeArgument(const Argument &argument);
  void writeTensorMeta(const TensorMeta &meta);
  void writeSymInt(const SymInt &number);

  template <typename Range, typename Writer>
  void writeArray(const Range &range, Writer writeItem) {
    out << "[";
    llvm::interleave(range, writeItem, [&] { out << ", "; });
    out << "]";
  }

private:
  void writePayload(const Argument &argument);
  void writeSymbolic(const Argument &argument, llvm::StringRef constant);
  void writeDevice(llvm::StringRef type, std::optional<int64_t> index);
  void writeName(const Argument &argument);
  void writeMetadata(const Node &node);
  llvm::StringRef spell(bool value) { return value ? "true" : "false"; }

  llvm::raw_ostream &out;
  const JsonDocument *document;
  NameFunction getName;
};

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_SCHEMAWRITER_H
