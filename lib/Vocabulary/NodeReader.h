//===- NodeReader.h - reading one node of a PyTorch graph -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_NODEREADER_H
#define COMMUTE_LIB_VOCABULARY_NODEREADER_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "mlir/IR/Builders.h"

#include <deque>

namespace commute::vocabulary {

using tp::getElementType;
using tp::getTensor;

/// The shape of a view with the dims in another order.
tp::StridedShape permute(const tp::StridedShape &shape,
                         llvm::ArrayRef<int64_t> permutation);

/// The graph around a node, as its reader sees it.
class GraphReader {
public:
  virtual ~GraphReader() = default;
  /// Returns the value of this graph name, or null if the tp module has none.
  virtual mlir::Value getValue(llvm::StringRef name) = 0;
  /// Returns the type of a tensor, or null for anything but a plain tensor.
  virtual mlir::RankedTensorType getTensorType(llvm::StringRef name) = 0;
  virtual bool isUsed(llvm::StringRef name) = 0;
  /// Returns true if two tensors have the same device and memory layout
  /// (strided or sparse).
  virtual bool areOnSameDevice(llvm::StringRef a, llvm::StringRef b) = 0;
  /// Returns the group of this name. On failure, `error` says how to state it.
  virtual tp::GroupAttr getGroup(llvm::StringRef name, std::string &error) = 0;
  /// Returns the groups of all ranks of which `ranks` is this rank's. Returns
  /// null if they are not known.
  virtual tp::GroupAttr getGroupOfRanks(llvm::ArrayRef<int64_t> ranks) = 0;
  /// Returns why collectives of groups that are known for this rank alone are
  /// not read; empty if there are none.
  virtual llvm::StringRef getGroupLimitation() = 0;
  virtual tp::SymbolSpace &getSymbols() = 0;
  /// Returns the symbolic number of this name, or null if it is not a number.
  virtual tp::Size getNumber(llvm::StringRef name) = 0;
  /// Records the rank that an op states. Returns false if it contradicts the
  /// known rank.
  virtual bool noteRank(int64_t rank) = 0;
};

/// A node, its arguments by name (with defaults), and the ops built for it.
/// Typed accessors return nullopt or null for an argument of another type and
/// for an absent argument without default. The reader then fails, and the node
/// becomes a tp.call.
class NodeReader {
public:
  /// If `alias` defines the node's operator, `node` is the call of the known
  /// operator (see getKnownCall).
  NodeReader(GraphReader &graph, const archive::Node &node,
             const OperatorEntry &entry, const OperatorAlias *alias,
             mlir::OpBuilder &builder, mlir::Location location);

  const archive::Node &getNode() const { return node; }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::MLIRContext *getContext() { return builder.getContext(); }
  tp::SymbolSpace &getSymbols() { return graph.getSymbols(); }

  //===--------------------------------------------------------------------===//
  // Arguments
  //===--------------------------------------------------------------------===//

  /// Returns nullptr if the argument was left at its default.
  const archive::Argument *find(llvm::StringRef argument) const;
  /// Returns true if the argument is absent or None.
  bool isAbsent(llvm::StringRef argument) const;
  /// Notes that an argument is understood without being read, because the types
  /// of the node's tensors determine its value.
  void skip(llvm::StringRef argument) const {
    hasSkipped |= find(argument) != nullptr;
  }
  /// Returns true if the node has an argument that was skipped.
  bool skipsArguments() const { return hasSkipped; }
  /// Returns an argument of the node that is not None and that the reader has
  /// not asked for, or null.
  const archive::NamedArgument *findUnread() const;
  mlir::Value tensor(llvm::StringRef argument);
  /// The tensors of a list; nullopt if an element is None or not a tensor.
  std::optional<llvm::SmallVector<mlir::Value>>
  tensors(llvm::StringRef argument);
  /// One tensor of a list; null if that element is None.
  mlir::Value element(llvm::StringRef argument, size_t index);
  /// A tensor, or a number as a tensor of rank 0.
  mlir::Value operand(llvm::StringRef argument);
  std::optional<int64_t> integer(llvm::StringRef argument,
                                 std::optional<int64_t> byDefault = {});
  /// An integer, possibly symbolic; null for anything else.
  tp::Size size(llvm::StringRef argument);
  std::optional<double> number(llvm::StringRef argument,
                               std::optional<double> byDefault = {});
  std::optional<bool> boolean(llvm::StringRef argument,
                              std::optional<bool> byDefault = {});
  /// A list of integers. A single integer counts as a list of one.
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef argument);
  std::optional<llvm::StringRef>
  string(llvm::StringRef argument,
         std::optional<llvm::StringRef> byDefault = {});
  std::optional<archive::MemoryFormat>
  memoryFormat(llvm::StringRef argument, archive::MemoryFormat byDefault);
  /// The dims of a reduction, counted from the front and in order: all dims of
  /// a tensor of this rank if the argument is absent or empty. They may be out
  /// of range.
  std::optional<llvm::SmallVector<int64_t>> dims(llvm::StringRef argument,
                                                 int64_t rank);
  /// A dim counted from the front, for a tensor of rank `rank`; nullopt if it
  /// is out of range.
  std::optional<int64_t> dim(llvm::StringRef argument, int64_t rank,
                             std::optional<int64_t> byDefault = {});
  /// The group named by the argument `group_name` (`group` in newer files).
  tp::GroupAttr group();
  /// The groups of which `ranks` is the one of this rank.
  tp::GroupAttr groupOfRanks(llvm::ArrayRef<int64_t> ranks);
  /// The dim that a collective of PyTorch acts on for a tensor of rank `rank`:
  /// 0, or the `dim` of an operator that is defined as this one.
  std::optional<int64_t> collectiveDim(int64_t rank);
  /// Returns true if the result of a collective is used through a wait.
  bool needsWait() const { return !alias || alias->needsWait; }
  /// See GraphReader::noteRank.
  bool noteRank(int64_t rank) { return graph.noteRank(rank); }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  size_t getNumResults() const { return resultNames.size(); }
  mlir::RankedTensorType getResultType(size_t index = 0);
  bool isResultUsed(size_t index) { return graph.isUsed(resultNames[index]); }
  /// Returns true if the first result is on the device of a tensor argument and
  /// has its memory layout.
  bool keepsDevice(llvm::StringRef argument);

  /// Creates an op of the node's expansion.
  template <typename OpType, typename... Arguments>
  OpType create(Arguments &&...arguments) {
    auto op = OpType::create(builder, location,
                             std::forward<Arguments>(arguments)...);
    created.push_back(op);
    return op;
  }
  mlir::Value constant(int64_t value);
  mlir::Value constant(double value);
  mlir::Value constant(bool value);
  /// A known size as an integer. A symbolic one is counted, as the sum of so
  /// many ones.
  mlir::Value sizeAsNumber(const tp::Size &size);
  /// Slices the elements [start, start + size) along a dim, as a view.
  mlir::Value slice(mlir::Value input, int64_t dim, int64_t start,
                    const tp::Size &size);
  /// Reshapes `input`; the result is a view if the strides allow it.
  mlir::Value reshape(mlir::Value input, const tp::Sizes &sizes);
  /// The dims in another order, as a view.
  mlir::Value permute(mlir::Value input, llvm::ArrayRef<int64_t> permutation);
  /// The elements converted to another type, as a dense tensor.
  mlir::Value convert(mlir::Value input, mlir::Type elementType);
  /// The elements repeated along dims of size 1 and new leading dims, as a
  /// view.
  mlir::Value broadcast(mlir::Value input, const tp::Sizes &sizes);
  /// A scalar function of tensors that are broadcast to one shape, as a dense
  /// tensor of `elementType`.
  mlir::Value map(tp::MapFunction function, mlir::ValueRange operands,
                  mlir::Type elementType);
  /// A dense tensor in which all elements are this number.
  mlir::Value fill(double number, const tp::Sizes &sizes,
                   mlir::Type elementType);
  /// The tensors one after the other along a dim, as a dense tensor.
  mlir::Value concat(llvm::ArrayRef<mlir::Value> parts, int64_t dim);
  /// The tensor with so many elements before and after it along a dim, which
  /// are all this number. The tensor itself if there are none.
  mlir::Value pad(mlir::Value input, int64_t dim, int64_t before, int64_t after,
                  double number = 0);
  /// The integers start, start + step, ... as a tensor of i64.
  mlir::Value iota(int64_t count, int64_t start = 0, int64_t step = 1);
  /// The type of a tensor in row-major order.
  mlir::RankedTensorType getDenseType(mlir::Type elementType,
                                      llvm::ArrayRef<tp::Size> sizes);

  /// Makes `value`, a result of an op created here, a result of the node.
  void setResult(size_t index, mlir::Value value);
  mlir::LogicalResult result(mlir::Value value) {
    setResult(0, value);
    return mlir::success();
  }

  /// Reports an invalid graph (as opposed to a form that is not modelled).
  mlir::LogicalResult fail(const llvm::Twine &message) {
    error = message.str();
    return mlir::failure();
  }

  /// States why the node has a form that is not modelled, for refusals of
  /// rewrites that need it: "it is a product with ...".
  mlir::LogicalResult decline(const llvm::Twine &reason) {
    limitation = reason.str();
    return mlir::failure();
  }

  //===--------------------------------------------------------------------===//
  // For the importer
  //===--------------------------------------------------------------------===//

  llvm::ArrayRef<mlir::Operation *> getCreated() const { return created; }
  llvm::ArrayRef<llvm::StringRef> getResultNames() const { return resultNames; }
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }
  llvm::StringRef getError() const { return error; }
  llvm::StringRef getLimitation() const { return limitation; }
  /// Returns true if reading failed because the group's members are unknown.
  bool isGroupUnknown() const { return groupIsUnknown; }
  void eraseCreated();

private:
  GraphReader &graph;
  const archive::Node &node;
  const OperatorEntry &entry;
  const OperatorAlias *alias;
  mutable llvm::SmallPtrSet<const archive::Argument *, 8> asked;
  mutable bool hasSkipped = false;
  /// Lists of arguments that were passed one by one.
  mutable std::deque<archive::Argument> gathered;
  mlir::OpBuilder &builder;
  mlir::Location location;
  llvm::SmallVector<mlir::Operation *, 4> created;
  llvm::SmallVector<llvm::StringRef, 2> resultNames;
  llvm::SmallVector<mlir::Value, 2> results;
  std::string error;
  std::string limitation;
  bool groupIsUnknown = false;
};

// Each of these adds the operators of one file.
void addAtenActivationGradients(Vocabulary &vocabulary);
void addAtenAttention(Vocabulary &vocabulary);
void addAtenBackward(Vocabulary &vocabulary);
void addAtenComplex(Vocabulary &vocabulary);
void addAtenComposites(Vocabulary &vocabulary);
void addAtenContractions(Vocabulary &vocabulary);
void addAtenCopies(Vocabulary &vocabulary);
void addAtenElementwise(Vocabulary &vocabulary);
void addAtenFactories(Vocabulary &vocabulary);
void addAtenCounting(Vocabulary &vocabulary);
void addAtenFormulas(Vocabulary &vocabulary);
void addAtenGrouped(Vocabulary &vocabulary);
void addAtenIndexing(Vocabulary &vocabulary);
void addAtenLosses(Vocabulary &vocabulary);
void addAtenMatmul(Vocabulary &vocabulary);
void addAtenReindex(Vocabulary &vocabulary);
void addAtenRowwise(Vocabulary &vocabulary);
void addAtenScalarFormulas(Vocabulary &vocabulary);
void addAtenScatter(Vocabulary &vocabulary);
void addAtenSlices(Vocabulary &vocabulary);
void addAtenSorting(Vocabulary &vocabulary);
void addAtenStatistics(Vocabulary &vocabulary);
void addC10dFunctional(Vocabulary &vocabulary);
void addSymmMem(Vocabulary &vocabulary);
void addTensorCast(Vocabulary &vocabulary);
void addTorchFunctions(Vocabulary &vocabulary);
void addTorchIndexing(Vocabulary &vocabulary);
void addTorchWriters(Vocabulary &vocabulary);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_NODEREADER_H
