//===- RelatedInputs.h - what the ranks' inputs are -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_RELATEDINPUTS_H
#define COMMUTE_LIB_REFINEMENT_RELATEDINPUTS_H

#include "JoinedRanks.h"
#include "RelationOps.h"

#include <map>
#include <set>

namespace commute::refinement {

/// Returns the name of an input in the graph, and the name of its parameter;
/// both may be empty.
llvm::StringRef getInputName(mlir::func::FuncOp function, unsigned index);
llvm::StringRef getParameterName(mlir::func::FuncOp function, unsigned index);
/// Returns the name of the parameter, or else that in the graph.
llvm::StringRef getShownName(mlir::func::FuncOp function, unsigned index);
/// Returns the number that a constant input is, or null.
mlir::TypedAttr getConstant(mlir::func::FuncOp function, unsigned index);

/// Makes the inputs of all ranks from those of the reference: as stated, as the
/// sidecars place them, or else in the only way that names and shapes allow.
/// Constant tensors whose elements are known are the ones of the reference that
/// have the same elements, whatever their names.
class RelatedInputs {
public:
  RelatedInputs(UniqueOps &ops, mlir::func::FuncOp reference,
                const StatedRelations &stated, const Mesh &mesh);

  /// Finds the relations of a rank's inputs. The error says which input cannot
  /// be related, or lists several readings.
  llvm::Error relate(const JoinedRank &rank);
  /// Returns the value of an input that has been related. Inputs are made at
  /// their first use, so that layers of the joined program are alike.
  llvm::Expected<mlir::Value> make(const JoinedRank &rank,
                                   mlir::BlockArgument argument);
  /// Returns the relations of the inputs that have been related, each once.
  std::vector<Relation> getRelations() const;
  /// Returns the relation of the gradient of an input, by its name in the graph
  /// or that of its parameter. The error says why it does not follow.
  llvm::Expected<Relation> findGradient(llvm::ArrayRef<JoinedRank> ranks,
                                        llvm::StringRef name) const;
  /// Returns an error if a stated relation is that of no input.
  llvm::Error checkNames() const;

  /// The relations, one line each; those of similar names are merged.
  std::vector<std::string> getPremises() const;

private:
  enum class Source { Stated, Sidecar, Inferred, Constant };
  struct Found {
    Relation relation;
    Source source;
  };

  std::optional<unsigned> findReferenceInput(llvm::StringRef name) const;
  const Relation *findStated(int64_t rank, llvm::StringRef name,
                             llvm::StringRef parameter);
  llvm::Expected<Found> infer(const JoinedRank &rank, unsigned index);
  std::optional<Relation> readSidecar(const JoinedRank &rank, unsigned index,
                                      llvm::StringRef name) const;
  void notePremise(llvm::StringRef name, const Found &found, int64_t rank);

  UniqueOps &ops;
  mlir::func::FuncOp reference;
  const StatedRelations &stated;
  const Mesh &mesh;
  llvm::SmallVector<mlir::Value> referenceInputs;
  llvm::StringMap<unsigned> indexOf;
  /// The constant tensors of the reference, by content.
  llvm::StringMap<unsigned> indexOfContent;
  RelationOps relationOps;
  /// A program in which relations are tried out.
  UniqueOps trialOps;
  llvm::SmallVector<mlir::Value> trialInputs;
  RelationOps trial;
  /// By rank and input.
  std::map<std::pair<int64_t, unsigned>, Relation> related;
  std::set<std::string> usedNames;
  /// By line, with digits between dots replaced: the inputs, and the ranks.
  std::map<std::string, std::pair<std::set<std::string>, std::set<int64_t>>>
      premises;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_RELATEDINPUTS_H
