//===- SizesOfValues.h - sizes that a graph determines ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A symbol that no input has is a size, or another number, that a node
// determines from values, such as the number of elements that are not zero.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_SIZESOFVALUES_H
#define COMMUTE_LIB_VOCABULARY_SIZESOFVALUES_H

#include "NodeReader.h"
#include "SymbolHints.h"
#include "commute/Archive/Program.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

namespace commute::vocabulary {

/// Marks the ops that determine symbolic sizes from values: those of whose
/// results a symbol occurs first. To be asked for all nodes in their order.
class SizesOfValues {
public:
  SizesOfValues(const archive::Program &program, GraphReader &reader,
                const SymbolHints &hints, mlir::MLIRContext *context)
      : program(program), reader(reader), hints(hints), builder(context) {}

  /// Notes the symbols of a value that is not the result of a node.
  void noteKnown(const archive::Argument &value);
  /// Marks the ops of a node, with the symbols and the ranges that the program
  /// states of them.
  void note(const archive::Node &node);

private:
  /// Returns the symbols of a value that have not occurred before.
  llvm::SmallVector<mlir::Attribute>
  collectNewSymbols(const archive::Argument &value);

  const archive::Program &program;
  GraphReader &reader;
  const SymbolHints &hints;
  mlir::Builder builder;
  /// The symbols of the values seen so far.
  llvm::DenseSet<mlir::StringAttr> known;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SIZESOFVALUES_H
