//===- TextLayout.h - tables and paragraphs for terminals -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_TEXTLAYOUT_H
#define COMMUTE_TOOLS_COMMUTE_TEXTLAYOUT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace commute::tool {

/// The width that all output of the tool fits in, apart from names and types
/// that are longer.
inline constexpr size_t outputWidth = 100;

/// Returns the number of columns that UTF-8 text takes, one per code point.
size_t getWidth(llvm::StringRef text);

/// Prints text in lines of at most `outputWidth` columns, broken at spaces. All
/// lines are indented, and all but the first by `hanging` more.
void printWrapped(llvm::StringRef text, size_t indent, llvm::raw_ostream &os,
                  size_t hanging = 0);

/// Returns types without their strides: "tensor<4x8xf32>" for
/// "tensor<4x8xf32, #tp.layout<strides = [1, 4]>>".
std::string removeStrides(llvm::StringRef types);

/// Columns that are as wide as their widest cell. If the table is wider than
/// `outputWidth`, the widest column of text is shortened by an ellipsis in the
/// middle.
class Table {
public:
  enum class Align { Left, Right };
  struct Column {
    std::string title;
    Align align = Align::Left;
  };

  explicit Table(std::vector<Column> columns) : columns(std::move(columns)) {}

  /// A row may have fewer cells than there are columns.
  void addRow(std::vector<std::string> cells) {
    rows.push_back(std::move(cells));
  }

  /// `afterRow` is called after each row, with its number; it may be null.
  void print(size_t indent, llvm::raw_ostream &os,
             llvm::function_ref<void(size_t row)> afterRow = nullptr) const;

private:
  std::vector<size_t> getWidths(size_t indent) const;
  void printCells(const std::vector<std::string> &cells,
                  const std::vector<size_t> &widths, size_t indent,
                  llvm::raw_ostream &os) const;

  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_TEXTLAYOUT_H
