//===- TPInterfaces.td - what passes ask of an op ----------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPINTERFACES
#define COMMUTE_DIALECT_TPINTERFACES

include "mlir/IR/OpBase.td"

def TP_DimensionRuleOpInterface : OpInterface<"DimensionRuleOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Which dims of operands and results belong together, and whether an op may
    run on a shard along them: see `DimensionRule`.
  }];
  let methods = [
    InterfaceMethod<"The rule of this op, for the types it has.",
                    "::commute::tp::DimensionRule", "getDimensionRule">,
    InterfaceMethod<[{
      Whether the op distributes over sums in these operands taken together, the
      others held fixed: f(a + b) = f(a) + f(b). A sum is linear in both of its
      operands and in neither alone; a product in either alone and not in both.
    }], "bool", "isLinearIn", (ins "::llvm::ArrayRef<bool>":$operands), [{}],
    "return false;">,
    InterfaceMethod<[{
      Whether one of these operands is added to what the op reduces, so that it
      would be counted once for each part of the reduction (a bias).
    }], "bool", "addsOperands", (ins "::llvm::ArrayRef<bool>":$operands), [{}],
    "return false;">,
    InterfaceMethod<[{
      Whether this operand holds parameters of a normalization, one for each
      feature. By convention every rank has all of them.
    }], "bool", "isNormalizationParameter", (ins "::mlir::OpOperand &":$operand),
    [{}], "return false;">,
    InterfaceMethod<[{
      Adjusts positions and counts among the attributes of a copy of the op in
      which the factors of `rule`, the op's rule before, have new extents.
    }], "void", "scaleAttributes",
    (ins "const ::commute::tp::DimensionRule &":$rule,
         "::llvm::ArrayRef<int64_t>":$newSizes), [{}], [{ return; }]>];
}

def TP_ResultTypeOpInterface : OpInterface<"ResultTypeOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops whose result types follow from operands, attributes and what is stated
    of the results: see `ResultShape`.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends the types that the results have with the op's present operands.
      Sizes in `stated` are over `symbols`. Errors are emitted at the op.
    }], "::llvm::LogicalResult", "inferResultTypes",
    (ins "::commute::tp::SymbolSpace &":$symbols,
         "::llvm::ArrayRef<::commute::tp::ResultShape>":$stated,
         "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>];
}

def TP_EvaluationOpInterface : OpInterface<"EvaluationOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    What an op computes, written once over an `Algebra`: floating point when a
    program is run, a prime field when two programs are compared. An op that
    has no such meaning (an opaque call) does not implement the interface.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the results on one rank from the operands. Errors are emitted at
      the op.
    }], "::llvm::LogicalResult", "evaluate",
    (ins "::commute::tp::Algebra &":$algebra,
         "::llvm::ArrayRef<::commute::tp::AlgebraValue>":$operands,
         "::llvm::SmallVectorImpl<::commute::tp::AlgebraValue> &":$results)>];
}

def TP_WorkOpInterface : OpInterface<"WorkOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    How much an op computes and moves on one rank: see `Work`.
  }];
  let methods = [
    InterfaceMethod<[{
      The work at the given values of the symbols; nullopt where a size is not
      known.
    }], "std::optional<::commute::tp::Work>", "getWork",
    (ins "::commute::tp::SymbolValues":$symbols)>];
}

def TP_StrideOpInterface : OpInterface<"StrideOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    The memory layout of an op's results, as PyTorch's kernels produce it.
  }];
  let methods = [
    InterfaceMethod<[{
      Strides of one result, given the sizes and strides of the operands (one
      entry an operand; not tensors: empty) and the sizes of that result. All
      are in one symbol space. nullopt where they cannot be told.
    }], "::commute::tp::Strides", "inferStrides",
    (ins "unsigned":$resultIndex,
         "::llvm::ArrayRef<::commute::tp::StridedShape>":$operandShapes,
         "::llvm::ArrayRef<::commute::tp::Size>":$resultSizes)>,
    InterfaceMethod<[{
      Whether a result may be a view of an operand, rather than memory of its
      own.
    }], "bool", "mayShareMemory", (ins), [{}], "return false;">];
}

def TP_DenseOperandsOpInterface : OpInterface<"DenseOperandsOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that PyTorch refuses to run, or runs wrongly, on an input that is not
    dense in row-major order.
  }];
  let methods = [
    InterfaceMethod<"Whether this operand has to be dense.", "bool",
                    "requiresDense", (ins "::mlir::OpOperand &":$operand)>,
    InterfaceMethod<[{
      Whether the op writes into this operand, so that a copy of it would not
      do instead.
    }], "bool", "writesInto", (ins "::mlir::OpOperand &":$operand), [{}],
    "return false;">];
}

def TP_ReindexOpInterface : OpInterface<"ReindexOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops of one result that only place the elements of their operands. By
    default the result is the operand, element by element.
  }];
  let methods = [
    InterfaceMethod<[{
      The index map of the result, of sizes `sizes`, from those of the operands.
    }], "::commute::tp::IndexAlgebra::Map", "reindex",
    (ins "::commute::tp::IndexAlgebra &":$algebra,
         "::llvm::ArrayRef<::commute::tp::IndexAlgebra::Map>":$operands,
         "::llvm::ArrayRef<::commute::tp::Size>":$sizes), [{}],
    "return operands.front();">,
    InterfaceMethod<[{
      Whether the result has every element of the operands, and each once.
    }], "bool", "keepsEachElement", (ins), [{}], "return true;">];
}

def TP_GroupOpInterface : OpInterface<"GroupOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops whose results depend on the ranks of a group: collectives, and the ops
    that take a rank's own part.
  }];
  let methods = [
    InterfaceMethod<"The group.", "::commute::tp::GroupAttr", "getRankGroup",
                    (ins), [{}], "return $_op.getGroup();">,
    InterfaceMethod<[{
      What the results are on the ranks of the group, given what the operands
      are on them.
    }], "::llvm::SmallVector<::commute::tp::PlacementAttr>", "inferPlacements",
    (ins "::llvm::ArrayRef<::commute::tp::PlacementAttr>":$operands)>,
    InterfaceMethod<[{
      Whether the results depend on the order of the members. A sum over the
      group does not.
    }], "bool", "dependsOnPositions", (ins), [{}], "return true;">];
}

def TP_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops in which all ranks of a group take part. All ranks of a group execute
    its collectives in the same order.
  }];
  let methods = [
    InterfaceMethod<"The ranks that take part.", "::commute::tp::GroupAttr",
                    "getCollectiveGroup", (ins), [{}],
                    "return $_op.getGroup();">,
    InterfaceMethod<[{
      What is moved between them at the given values of the symbols; nullopt
      where a size is not known.
    }], "std::optional<::commute::tp::Communication>", "getCommunication",
    (ins "::commute::tp::SymbolValues":$symbols)>,
    InterfaceMethod<[{
      The dim of the results along which the parts of all ranks are, or that of
      which each rank has a part; nullopt if there is none.
    }], "std::optional<int64_t>", "getCollectiveAxis", (ins), [{}],
    "return std::nullopt;">,
    InterfaceMethod<[{
      How the first operand is combined over the ranks; nullopt if it is only
      moved, or if something computed from it is combined.
    }], "std::optional<::commute::tp::ReductionKind>", "getCollectiveReduction",
    (ins), [{}], "return std::nullopt;">,
    InterfaceMethod<[{
      Whether the result may be read only through a completion.
    }], "bool", "isAsynchronous", (ins), [{}], [{
      if constexpr (requires { $_op.getAsync(); })
        return $_op.getAsync();
      else
        return false;
    }]>,
    InterfaceMethod<[{
      Whether the results depend on nothing but what a rank receives, of the
      others and of itself: ranks that receive the same have the same.
    }], "bool", "dependsOnReceivedOnly", (ins), [{}], "return false;">,
    InterfaceMethod<[{
      Whether the first operand has the same sizes on all ranks.
    }], "bool", "hasEqualOperands", (ins), [{}], "return true;">,
    InterfaceMethod<[{
      The op in words that are equal on all ranks which run the same collective.
    }], "std::string", "getCollectiveText", (ins), [{}], [{
      return ::commute::tp::getCollectiveText($_op, $_op.getCollectiveReduction(),
                                              $_op.getCollectiveAxis());
    }]>];
}

def TP_CompletionOpInterface : OpInterface<"CompletionOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that wait for what an asynchronous op has begun. Their result is the
    value that was begun, in its type; between the two nobody can read it.
  }];
  let methods = [
    InterfaceMethod<"The value that is waited for.", "::mlir::Value",
                    "getBegun">];
}

def TP_IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that read or write elements of a tensor at indices which are values of
    the program.
  }];
  let methods = [
    InterfaceMethod<"Returns the tensor that the indices refer to.",
                    "::mlir::Value", "getIndexed">,
    InterfaceMethod<"Returns the dim of that tensor that the indices refer to.",
                    "unsigned", "getIndexedDim">,
    InterfaceMethod<"Returns the indices, a tensor of integers.",
                    "::mlir::Value", "getIndexValues">,
    InterfaceMethod<"Returns true if -1 is the last index, as in Python.",
                    "bool", "wrapsNegativeIndices">];
}

def TP_RepetitionOpInterface : OpInterface<"RepetitionOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that mark the values at the borders of a layer which stands for several:
    what goes into one of its repetitions came out of the one before. The values
    that are marked for one layer are therefore alike, shards or whole.
  }];
  let methods = [
    InterfaceMethod<"The layer that is repeated.", "int64_t", "getLayer">,
    InterfaceMethod<[{
      Which border is marked. Marks of a layer belong together in the order in
      which they stand at each border.
    }], "unsigned", "getBorder">];
}

#endif // COMMUTE_DIALECT_TPINTERFACES
