//===- ProgramInputs.h - inputs of a run ------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_PROGRAMINPUTS_H
#define COMMUTE_RUNTIME_PROGRAMINPUTS_H

#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Archive/Weights.h"
#include "commute/Runtime/FloatAlgebra.h"
#include "commute/Runtime/Safetensors.h"

namespace commute::runtime {

/// Sources of inputs, in order of precedence. Inputs found in neither file nor
/// weights are random.
struct InputSources {
  /// Tensors named "rank0.NAME" for one rank or "NAME" for all ranks. NAME is
  /// the name in the graph, or that of the parameter.
  std::optional<SafetensorsFile> file;
  /// Weights from the archive that all ranks run, or from that of each rank of
  /// the world, in its order; may be empty.
  std::vector<archive::Weights> weights;
  uint64_t seed = 0;

  /// Opens the weights of these archives.
  llvm::Error
  addWeights(llvm::ArrayRef<const archive::ProgramArchive *> archives);
};

/// The inputs of a program on all ranks. Random inputs respect the placements:
/// ranks that hold the same tensor, or shards of one tensor, receive just that;
/// other ranks receive independent tensors. Random integers are in range for
/// the tables that they visibly index, and 0 or 1 if there are none.
class ProgramInputs {
public:
  /// Returns an error for contradictory placements, and for tensors of the file
  /// that are not inputs or contradict the program's symbolic sizes.
  static llvm::Expected<ProgramInputs> create(mlir::func::FuncOp function,
                                              InputSources sources);

  /// Returns null for an input that is not a tensor. Thread-safe.
  llvm::Expected<TensorValue> get(unsigned argument, int64_t rank) const;
  /// Sizes from the capture and from given tensors.
  const SymbolTable &getSymbols() const { return symbols; }
  llvm::ArrayRef<int64_t> getWorld() const { return placements.getWorld(); }
  /// The assumptions that random inputs rest on because no placement is stated.
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
  /// Returns the weights of a rank's archive, or nullptr if there are none.
  const archive::Weights *findWeights(int64_t rank) const;
  /// Returns the stored weight, or nullptr if the archive has no data for it.
  const archive::StoredTensor *findWeight(unsigned argument,
                                          int64_t rank) const;
  void addHints();
  void addAssumptions(unsigned argument);
  llvm::Error addFileSizes();
  llvm::Error checkNames() const;
  llvm::Error error(unsigned argument, const llvm::Twine &message) const;

  llvm::Expected<TensorValue> readWeight(const archive::Weights &weights,
                                         const archive::StoredTensor &stored,
                                         unsigned argument,
                                         mlir::RankedTensorType type) const;
  TensorValue generate(unsigned argument, int64_t rank,
                       llvm::ArrayRef<int64_t> sizes,
                       mlir::Type elementType) const;

  mlir::func::FuncOp function;
  InputSources sources;
  analysis::InputPlacements placements;
  SymbolTable symbols;
  /// Exclusive upper bound of random integers, by argument.
  std::vector<int64_t> integerBounds;
  std::vector<std::string> assumptions;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_PROGRAMINPUTS_H
