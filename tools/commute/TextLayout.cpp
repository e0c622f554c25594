//===- TextLayout.cpp - tables and paragraphs for terminals -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "TextLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <algorithm>

using namespace commute;
using namespace commute::tool;

/// Columns between two cells.
static constexpr size_t gap = 2;
/// A column is not shortened below this width.
static constexpr size_t smallestWidth = 12;

static bool isFirstByte(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

size_t tool::getWidth(llvm::StringRef text) {
  return llvm::count_if(text, isFirstByte);
}

/// Returns the bytes of the first `width` code points.
static llvm::StringRef takeColumns(llvm::StringRef text, size_t width) {
  size_t index = 0;
  for (; index < text.size(); ++index)
    if (isFirstByte(text[index]) && width-- == 0)
      break;
  return text.take_front(index);
}

/// Returns text of at most `width` columns: the middle is left out.
static std::string shorten(llvm::StringRef text, size_t width) {
  size_t all = getWidth(text);
  if (all <= width || width < 4)
    return text.str();
  size_t front = (width - 3) / 2, back = width - 3 - front;
  llvm::StringRef start = takeColumns(text, front);
  llvm::StringRef rest = text.drop_front(takeColumns(text, all - back).size());
  return (start + "..." + rest).str();
}

void tool::printWrapped(llvm::StringRef text, size_t indent,
                        llvm::raw_ostream &os, size_t hanging) {
  llvm::SmallVector<llvm::StringRef> words;
  text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  size_t column = 0;
  bool isFirstLine = true;
  for (llvm::StringRef word : words) {
    size_t width = getWidth(word);
    if (column > 0 && column + 1 + width > outputWidth) {
      os << '\n';
      column = 0;
      isFirstLine = false;
    }
    if (column == 0) {
      column = indent + (isFirstLine ? 0 : hanging);
      os.indent(column);
    } else {
      os << ' ';
      ++column;
    }
    os << word;
    column += width;
  }
  os << '\n';
}

std::string tool::removeStrides(llvm::StringRef types) {
  constexpr llvm::StringLiteral start = ", #tp.layout<strides";
  std::string result;
  while (true) {
    auto [before, rest] = types.split(start);
    result += before;
    if (before.size() == types.size())
      return result;
    types = rest.substr(rest.find(']')).drop_front();
    types.consume_front(">");
  }
}

std::vector<size_t> Table::getWidths(size_t indent) const {
  std::vector<size_t> widths;
  for (const Column &column : columns)
    widths.push_back(getWidth(column.title));
  for (const std::vector<std::string> &cells : rows)
    for (auto [width, cell] : llvm::zip(widths, cells))
      width = std::max(width, getWidth(cell));
  size_t total = indent + gap * (columns.size() - 1);
  for (size_t width : widths)
    total += width;
  while (total > outputWidth) {
    size_t widest = columns.size();
    for (size_t index = 0; index < columns.size(); ++index)
      if (columns[index].align == Align::Left &&
          (widest == columns.size() || widths[index] > widths[widest]))
        widest = index;
    if (widest == columns.size() || widths[widest] <= smallestWidth)
      break;
    size_t target =
        std::max(smallestWidth, widths[widest] - std::min(widths[widest],
                                                          total - outputWidth));
    total -= widths[widest] - target;
    widths[widest] = target;
  }
  return widths;
}

void Table::printCells(const std::vector<std::string> &cells,
                       const std::vector<size_t> &widths, size_t indent,
                       llvm::raw_ostream &os) const {
  std::string line(indent, ' ');
  for (auto [index, cell] : llvm::enumerate(cells)) {
    bool isLeft = columns[index].align == Align::Left;
    std::string text = isLeft ? shorten(cell, widths[index]) : cell;
    std::string padding(widths[index] - std::min(widths[index], getWidth(text)),
                        ' ');
    if (index > 0)
      line.append(gap, ' ');
    line += isLeft ? text + padding : padding + text;
  }
  os << llvm::StringRef(line).rtrim(' ') << '\n';
}

void Table::print(size_t indent, llvm::raw_ostream &os,
                  llvm::function_ref<void(size_t)> afterRow) const {
  std::vector<size_t> widths = getWidths(indent);
  std::vector<std::string> titles;
  for (const Column &column : columns)
    titles.push_back(column.title);
  printCells(titles, widths, indent, os);
  for (auto [row, cells] : llvm::enumerate(rows)) {
    printCells(cells, widths, indent, os);
    if (afterRow)
      afterRow(row);
  }
}
