//===- Relations.h - how ranks' tensors are made of others ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// relations.json states how the inputs of each rank are made of the inputs of
// the reference, and how its outputs must be. See
// docs/verify-a-parallel-model.md.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REFINEMENT_RELATIONS_H
#define COMMUTE_REFINEMENT_RELATIONS_H

#include "commute/Equivalence/IntegerUnion.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace commute::refinement {

/// An expression over the tensors of the reference: a name, or a function of
/// other expressions.
struct Relation {
  enum class Kind {
    Name,
    /// The block of the rank's position along an axis, as torch.chunk cuts.
    Shard,
    /// A summand: the members along an axis hold tensors that add up to it.
    Partial,
    Concat,
    Permute,
    Reshape,
    Slice,
    /// One part of torch.split.
    Split,
    Zeros,
  };
  Kind kind = Kind::Name;
  std::string name;
  std::vector<Relation> operands;
  int64_t dim = 0;
  /// Sizes or dims; start and end of a slice.
  std::vector<int64_t> numbers;
  /// The part of a split.
  int64_t index = 0;
  /// The mesh axis; empty for the only one.
  std::string axis;

  static Relation makeName(llvm::StringRef name);
  static Relation makeShard(Relation operand, int64_t dim,
                            llvm::StringRef axis);
  static Relation makePartial(Relation operand, llvm::StringRef axis);

  /// Returns the expression as relations.json spells it.
  std::string getText() const;
  /// Returns a relation over the output as "outputs" spells it: "replicated",
  /// "shard(1, tp)", "partial(dp)" or the expression.
  std::string getOutputText() const;
  /// Returns true if the members of an axis hold summands.
  bool isPartial() const;
  /// Returns true for a name alone: every rank holds the whole tensor.
  bool isWhole() const { return kind == Kind::Name; }
};

/// Parses an expression. The error quotes the text and the place in it.
llvm::Expected<Relation> parseRelation(llvm::StringRef text);

/// Parses a relation of an output: "replicated", "shard(1)", "shard(0, tp)",
/// "partial", "partial(dp)", or an expression in which "output" is the
/// reference's output. The name of the result is "output".
llvm::Expected<Relation> parseOutputRelation(llvm::StringRef text);

/// Returns the relation of the gradient of an input that a relation makes: the
/// gradient of a shard is the shard of the gradient, and that of a summand is
/// the whole gradient. None if the input is made of several tensors of the
/// reference, which have a gradient each.
std::optional<Relation> makeGradientRelation(const Relation &ofInput);

/// The named axes of a mesh, each with the members of all its groups.
class Mesh {
public:
  using Groups = std::vector<std::vector<int64_t>>;

  /// Adds an axis unless there is one with this name.
  void add(llvm::StringRef name, Groups groups);
  const std::vector<std::pair<std::string, Groups>> &getAxes() const {
    return axes;
  }
  /// The same, by name.
  std::map<std::string, Groups> getGroups() const {
    return {axes.begin(), axes.end()};
  }
  /// Returns the members of the group along an axis that contains a rank; null
  /// if there is none. An empty name denotes the only axis.
  const std::vector<int64_t> *getMembers(llvm::StringRef axis,
                                         int64_t rank) const;
  /// Returns the ranks that differ from one along these axes alone, in their
  /// order, and the rank itself.
  std::vector<int64_t> getMembersAlong(llvm::ArrayRef<std::string> axes,
                                       int64_t rank) const;
  /// Returns the name of an axis, or of the only axis of more than one rank for
  /// an empty name. The error lists the axes.
  llvm::Expected<std::string> resolve(llvm::StringRef axis) const;

private:
  std::vector<std::pair<std::string, Groups>> axes;
};

/// The range [start, end) of a dim that one of the members holds, as
/// torch.chunk cuts.
std::pair<int64_t, int64_t> getBlock(const std::vector<int64_t> &members,
                                     int64_t rank, int64_t size);

/// Returns the relations that make a rank hold a tensor of sizes `own` of the
/// tensor `name` of sizes `whole`: it is cut along some dims, once along each
/// axis at most. There are no more than 16.
std::vector<Relation> findShardings(const Mesh &mesh,
                                    llvm::ArrayRef<int64_t> whole,
                                    llvm::ArrayRef<int64_t> own, int64_t rank,
                                    llvm::StringRef name);

/// The content of relations.json.
struct StatedRelations {
  using Inputs = std::map<std::string, Relation>;
  struct Output {
    /// The rank's output, by index or name; empty for the same as that of the
    /// reference.
    std::string output;
    /// None if the output is a gradient, or may be sharded in any way.
    std::optional<Relation> relation;
    /// The rank's input of which the output is the gradient; may be empty. The
    /// gradient is made of the reference's gradient as the input is made of the
    /// reference's input.
    std::string gradientOf;
  };

  Mesh mesh;
  Inputs inputs;
  /// By rank.
  std::vector<Inputs> inputsOfRank;
  /// By index or name of the reference's output.
  std::map<std::string, Output> outputs;
  /// The integers that inputs may have, by name of the reference's input.
  std::map<std::string, equivalence::IntegerUnion> ranges;
  /// Further premises, one sentence each. They are printed with the verdict.
  std::vector<std::string> premises;
};

/// Parses the text of relations.json. Errors start with `origin`.
llvm::Expected<StatedRelations> parseRelations(std::string text,
                                               llvm::StringRef origin);

} // namespace commute::refinement

#endif // COMMUTE_REFINEMENT_RELATIONS_H
