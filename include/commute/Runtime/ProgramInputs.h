//===- ProgramInputs.h - where a run's inputs come from ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_PROGRAMINPUTS_H
#define COMMUTE_RUNTIME_PROGRAMINPUTS_H

#include "commute/Analysis/InputPlacements.h"
#include "commute/Archive/Weights.h"
#include "commute/Runtime/FloatAlgebra.h"
#include "commute/Runtime/Safetensors.h"

namespace commute::runtime {

/// What may give inputs, the first that has one first. What nothing gives is
/// random.
struct InputSources {
  /// Tensors called "rank0.NAME" for one rank, or "NAME" for all. NAME is the
  /// graph's, or that of the parameter.
  std::optional<SafetensorsFile> file;
  /// The same weights on all ranks.
  std::optional<archive::Weights> weights;
  uint64_t seed = 0;
};

/// The inputs of a program on all ranks. Random ones respect the placements:
/// ranks that hold the same tensor, or blocks of one, get such; all other ranks
/// get tensors of their own. Integers are small enough for the tables that they
/// index, where that can be seen, else 0 or 1.
class ProgramInputs {
public:
  static llvm::Expected<ProgramInputs> create(mlir::func::FuncOp function,
                                              InputSources sources);

  /// Null for an input that is no tensor. Several threads may ask at once.
  llvm::Expected<TensorValue> get(unsigned argument, int64_t rank) const;
  /// Sizes at capture, and those of the tensors given.
  const SymbolTable &getSymbols() const { return symbols; }
  llvm::ArrayRef<int64_t> getWorld() const { return placements.getWorld(); }
  /// What was assumed of random inputs without a statement.
  llvm::ArrayRef<std::string> getAssumptions() const { return assumptions; }

private:
  ProgramInputs(mlir::func::FuncOp function, InputSources sources,
                analysis::InputPlacements placements)
      : function(function), sources(std::move(sources)),
        placements(std::move(placements)) {}

  mlir::func::FuncOp getFunction() const { return function; }
  std::string getName(unsigned argument) const;
  std::string getParameterName(unsigned argument) const;
  const SafetensorsFile::Entry *findInFile(unsigned argument,
                                           int64_t rank) const;
  /// The stored weight, unless the archive has no bytes for it.
  const archive::StoredTensor *findWeight(unsigned argument) const;
  void addHints();
  void addAssumptions(unsigned argument);
  llvm::Error addFileSizes();
  llvm::Error checkNames() const;
  llvm::Error error(unsigned argument, const llvm::Twine &message) const;

  llvm::Expected<TensorValue> readWeight(const archive::StoredTensor &stored,
                                         unsigned argument,
                                         mlir::RankedTensorType type) const;
  TensorValue generate(unsigned argument, int64_t rank,
                       llvm::ArrayRef<int64_t> sizes,
                       mlir::Type elementType) const;

  mlir::func::FuncOp function;
  InputSources sources;
  analysis::InputPlacements placements;
  SymbolTable symbols;
  /// By argument: random integers are below this.
  std::vector<int64_t> integerBounds;
  std::vector<std::string> assumptions;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_PROGRAMINPUTS_H
