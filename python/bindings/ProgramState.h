//===- ProgramState.h - what a ProgramHandle holds --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_PROGRAMSTATE_H
#define COMMUTE_PYTHON_BINDINGS_PROGRAMSTATE_H

#include "ProgramHandle.h"

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Equivalence/Verify.h"
#include "commute/Report/RemarkCollector.h"

#include <mutex>

namespace commute::python {

/// What all versions of a program share: the program as it was read. Its module
/// is held by the handles.
struct ProgramSource {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  report::RemarkCollector remarks;
  /// Remarks about reading.
  std::vector<report::RemarkEntry> readRemarks;
  vocabulary::Vocabulary vocabulary;
  compiler::LoadedProgram file;
  /// Held while anything of the context is used: Python calls from any thread.
  std::mutex mutex;
};

struct ProgramHandle::State {
  std::shared_ptr<ProgramSource> source;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  ~State();
};

/// While alive, gives the calling thread a program with the module of a handle.
class ProgramHandle::Access {
public:
  explicit Access(const ProgramHandle &handle);
  /// For a source that the caller has locked.
  Access(const ProgramHandle &handle, std::adopt_lock_t);
  ~Access();
  Access(const Access &) = delete;
  Access &operator=(const Access &) = delete;

  compiler::LoadedProgram &getFile() const { return state.source->file; }
  mlir::ModuleOp getModule() const { return getFile().getModule(); }
  ProgramSource &getSource() const { return *state.source; }

private:
  State &state;
  std::unique_lock<std::mutex> lock;
};

/// Returns the checker's options. The error is about the precision.
llvm::Expected<equivalence::VerifyOptions>
getVerifyOptions(const VerifySettings &settings);

/// Returns the path of the reproducer that a failing pass writes, which is
/// unique to the process and the program.
std::string getReproducerPath();

/// Returns an error as a failure of the user's input.
Failure toFailure(llvm::Error error);

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_PROGRAMSTATE_H
