//===- UnusedParts.cpp - removes what a reduced module does not use -------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "UnusedParts.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace commute;
using namespace commute::reduce;

DialectRegistry reduce::getDialects() {
  DialectRegistry registry;
  registry.insert<tp::TPDialect, func::FuncDialect>();
  return registry;
}

ReductionFiles ReductionFiles::find(int argc, char **argv) {
  ReductionFiles files;
  for (int index = 1; index < argc; ++index) {
    StringRef text = argv[index];
    if (text == "-o" && index + 1 < argc)
      files.output = argv[++index];
    else if (text.consume_front("-o="))
      files.output = text.str();
    else if (!text.starts_with("-"))
      files.input = text.str();
    // -reduction-tree='traversal-mode=0 test=SCRIPT'
    if (size_t place = text.rfind("test="); place != StringRef::npos)
      files.test = text.substr(place).split('=').second.split(' ').first.str();
  }
  return files;
}

namespace {

/// Makes changes to a module that leave it interesting.
class Reducer {
public:
  explicit Reducer(const ReductionFiles &files)
      : files(files), context(getDialects()) {}

  LogicalResult run();

private:
  OwningOpRef<ModuleOp> read(StringRef path) {
    return parseSourceFile<ModuleOp>(path, &context);
  }
  bool isInteresting(ModuleOp candidate);
  /// Applies a change to a copy, which becomes the module if it is interesting
  /// and not the same.
  template <typename Change>
  bool attempt(Change change);
  void eraseUnusedOps();
  static func::FuncOp getFunction(ModuleOp module) {
    auto functions = module.getOps<func::FuncOp>();
    return llvm::hasSingleElement(functions) ? *functions.begin()
                                             : func::FuncOp();
  }
  llvm::Error write(ModuleOp result, StringRef path) const {
    return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
      os << result << '\n';
      return llvm::Error::success();
    });
  }

  const ReductionFiles &files;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

static unsigned countOps(ModuleOp module) {
  unsigned count = 0;
  module.walk(
      [&](Operation *op) { count += isa<tp::TPDialect>(op->getDialect()); });
  return count;
}

static std::string pluralize(unsigned count, StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

bool Reducer::isInteresting(ModuleOp candidate) {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("commute-reduce", "mlir", path))
    return false;
  llvm::FileRemover remover(path);
  if (llvm::Error error = write(candidate, path)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  // As in mlir-reduce, 0 means that the module is not interesting.
  return llvm::sys::ExecuteAndWait(files.test, {files.test, path}) > 0;
}

template <typename Change>
bool Reducer::attempt(Change change) {
  OwningOpRef<ModuleOp> candidate(cast<ModuleOp>(module->clone()));
  if (!change(getFunction(*candidate)) || !isInteresting(*candidate))
    return false;
  module = std::move(candidate);
  return true;
}

/// Drops a result of the function, which has one block.
static bool dropResult(func::FuncOp function, unsigned index) {
  function.getBody().front().getTerminator()->eraseOperand(index);
  return succeeded(function.eraseResult(index));
}

static SmallVector<Operation *> getOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front().without_terminator())
    ops.push_back(&op);
  return ops;
}

/// Erases ops of a range that only compute values, all of which are unused.
static bool eraseUnused(func::FuncOp function, size_t begin, size_t end) {
  bool isChanged = false;
  SmallVector<Operation *> ops = getOps(function);
  for (Operation *op : llvm::reverse(ArrayRef(ops).slice(begin, end - begin))) {
    bool onlyComputes =
        isa<tp::CollectiveOpInterface, tp::CompletionOpInterface>(op) ||
        wouldOpBeTriviallyDead(op);
    if (!op->use_empty() || !onlyComputes)
      continue;
    op->erase();
    isChanged = true;
  }
  return isChanged;
}

static bool eraseUnusedInputs(func::FuncOp function) {
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  return unused.any() && succeeded(function.eraseArguments(unused));
}

void Reducer::eraseUnusedOps() {
  // From the end, in ranges that get shorter: a range in which one op must stay
  // is split.
  size_t length = getOps(getFunction(*module)).size();
  for (; length > 0; length /= 2)
    for (size_t end = getOps(getFunction(*module)).size(); end > 0;) {
      size_t begin = end - std::min(end, length);
      attempt([&](func::FuncOp copy) { return eraseUnused(copy, begin, end); });
      end = begin;
    }
}

LogicalResult Reducer::run() {
  OwningOpRef<ModuleOp> before = read(files.input);
  module = read(files.output);
  if (!before || !module)
    return failure();
  unsigned numBefore = countOps(*before), numReduced = countOps(*module);
  func::FuncOp function = getFunction(*module);
  if (!function || !function.getBody().hasOneBlock())
    return success();
  unsigned numResults = function.getNumResults(), numDropped = 0;
  unsigned numInputs = function.getNumArguments();
  for (unsigned index = numResults; index-- > 0;)
    numDropped +=
        attempt([&](func::FuncOp copy) { return dropResult(copy, index); });
  eraseUnusedOps();
  attempt(eraseUnusedInputs);
  if (llvm::Error error = write(*module, files.output)) {
    llvm::WithColor::error(llvm::errs(), "commute-reduce")
        << files.output << ": " << llvm::toString(std::move(error)) << '\n';
    return failure();
  }
  unsigned numAfter = countOps(*module);
  unsigned numErasedInputs = numInputs - getFunction(*module).getNumArguments();
  llvm::outs() << "commute-reduce: " << pluralize(numBefore, "op")
               << " before, " << numAfter << " after\n";
  auto tell = [](unsigned count, const Twine &text) {
    if (count > 0)
      llvm::outs() << "  " << text << '\n';
  };
  tell(numBefore - std::min(numReduced, numBefore),
       "replaced or removed " + pluralize(numBefore - numReduced, "op"));
  tell(numDropped, "no longer returned " + pluralize(numDropped, "value"));
  tell(numReduced - numAfter,
       "removed " + pluralize(numReduced - numAfter, "unused op"));
  tell(numErasedInputs,
       "removed " + pluralize(numErasedInputs, "unused input"));
  llvm::outs() << "  " << files.output << " is still interesting to "
               << llvm::sys::path::filename(files.test) << '\n';
  return success();
}

LogicalResult reduce::removeUnusedParts(const ReductionFiles &files) {
  if (files.input.empty() || files.output.empty() || files.output == "-" ||
      files.test.empty())
    return success();
  return Reducer(files).run();
}
