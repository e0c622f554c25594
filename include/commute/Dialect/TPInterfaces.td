//===- TPInterfaces.td - op interfaces of tp ---------------*- tablegen -*-===//
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
    States which dims of operands and results correspond, and whether the op can
    run on shards along them; see `DimensionRule`.
  }];
  let methods = [
    InterfaceMethod<"Returns the rule of this op for its present types.",
                    "::commute::tp::DimensionRule", "getDimensionRule">,
    InterfaceMethod<[{
      Returns true if the op is additive in these operands taken together, with
      the others fixed: f(a + b) = f(a) + f(b). A sum is additive in both of its
      operands together but in neither alone; a product is additive in either
      operand alone but not in both together.
    }], "bool", "isLinearIn", (ins "::llvm::ArrayRef<bool>":$operands), [{}],
    "return false;">,
    InterfaceMethod<[{
      Returns true if one of these operands, such as a bias, is added to the
      value that the op reduces. If the reduction is split into parts, such an
      operand must be added in one part only.
    }], "bool", "addsOperands", (ins "::llvm::ArrayRef<bool>":$operands), [{}],
    "return false;">,
    InterfaceMethod<[{
      Returns true if this operand holds the parameters of a normalization, one
      for each feature. By convention, every rank has all of them.
    }], "bool", "isNormalizationParameter", (ins "::mlir::OpOperand &":$operand),
    [{}], "return false;">,
    InterfaceMethod<[{
      Adjusts the positions and counts among the attributes of a copy of the op
      in which the factors of `rule`, the rule of the original op, have the
      sizes `newSizes`.
    }], "void", "scaleAttributes",
    (ins "const ::commute::tp::DimensionRule &":$rule,
         "::llvm::ArrayRef<int64_t>":$newSizes), [{}], [{ return; }]>];
}

def TP_ResultTypeOpInterface : OpInterface<"ResultTypeOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops whose result types are determined by the operands, the attributes and
    the stated parts of the result types; see `ResultShape`.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends the result types for the op's present operands. The sizes in
      `stated` are expressions over `symbols`. Errors are emitted at the op.
    }], "::llvm::LogicalResult", "inferResultTypes",
    (ins "::commute::tp::SymbolSpace &":$symbols,
         "::llvm::ArrayRef<::commute::tp::ResultShape>":$stated,
         "::llvm::SmallVectorImpl<::mlir::Type> &":$types)>];
}

def TP_EvaluationOpInterface : OpInterface<"EvaluationOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    The semantics of an op, written once over an `Algebra`: floating point when
    a program is run, a prime field when two programs are compared. Opaque
    calls have no such semantics and do not implement the interface.
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
    The arithmetic and memory traffic of an op on one rank; see `Work`.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the work for the given values of the symbols, or nullopt if a size
      is unknown.
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
      Returns the strides of one result, given its sizes and the sizes and
      strides of the operands, in one symbol space. `operandShapes` has one
      entry for each operand, which is empty if the operand is not a tensor.
      Returns nullopt if the strides are unknown.
    }], "::commute::tp::Strides", "inferStrides",
    (ins "unsigned":$resultIndex,
         "::llvm::ArrayRef<::commute::tp::StridedShape>":$operandShapes,
         "::llvm::ArrayRef<::commute::tp::Size>":$resultSizes)>,
    InterfaceMethod<[{
      Returns true if a result may be a view of an operand.
    }], "bool", "mayShareMemory", (ins), [{}], "return false;">];
}

def TP_DenseOperandsOpInterface : OpInterface<"DenseOperandsOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that PyTorch refuses to run, or runs wrongly, on an input that is not
    dense in row-major order.
  }];
  let methods = [
    InterfaceMethod<"Returns true if this operand must be dense.", "bool",
                    "requiresDense", (ins "::mlir::OpOperand &":$operand)>,
    InterfaceMethod<[{
      Returns true if the op writes into this operand, so that a copy cannot
      replace it.
    }], "bool", "writesInto", (ins "::mlir::OpOperand &":$operand), [{}],
    "return false;">,
    InterfaceMethod<"Returns true if the op writes into any operand.", "bool",
                    "writesIntoOperands", (ins), [{}], [{
      return ::llvm::any_of($_op->getOpOperands(), [&](::mlir::OpOperand &operand) {
        return $_op.writesInto(operand);
      });
    }]>];
}

def TP_ReindexOpInterface : OpInterface<"ReindexOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops with one result that only rearrange the elements of their operands. By
    default, the result equals the operand, element by element.
  }];
  let methods = [
    InterfaceMethod<[{
      Computes the index map of the result, whose sizes are `sizes`, from the
      index maps of the operands.
    }], "::commute::tp::IndexAlgebra::Map", "reindex",
    (ins "::commute::tp::IndexAlgebra &":$algebra,
         "::llvm::ArrayRef<::commute::tp::IndexAlgebra::Map>":$operands,
         "::llvm::ArrayRef<::commute::tp::Size>":$sizes), [{}],
    "return operands.front();">,
    InterfaceMethod<[{
      Returns true if the result contains every element of the operands exactly
      once.
    }], "bool", "keepsEachElement", (ins), [{}], "return true;">];
}

def TP_GroupOpInterface : OpInterface<"GroupOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops whose results depend on the ranks of a group: collectives, and ops that
    select this rank's part of a value.
  }];
  let methods = [
    InterfaceMethod<"The group.", "::commute::tp::GroupAttr", "getRankGroup",
                    (ins), [{}], "return $_op.getGroup();">,
    InterfaceMethod<[{
      Returns the placements of the results over the group, given those of the
      operands.
    }], "::llvm::SmallVector<::commute::tp::PlacementAttr>", "inferPlacements",
    (ins "::llvm::ArrayRef<::commute::tp::PlacementAttr>":$operands)>,
    InterfaceMethod<[{
      Returns true if the results depend on the order of the members. A sum over
      the group does not.
    }], "bool", "dependsOnPositions", (ins), [{}], "return true;">];
}

def TP_CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that all ranks of a group execute together. The ranks of a group must
    execute its collectives in the same order.
  }];
  let methods = [
    InterfaceMethod<"Returns the ranks that take part.", "::commute::tp::GroupAttr",
                    "getCollectiveGroup", (ins), [{}],
                    "return $_op.getGroup();">,
    InterfaceMethod<[{
      Returns the communication for the given values of the symbols, or nullopt
      if a size is unknown.
    }], "std::optional<::commute::tp::Communication>", "getCommunication",
    (ins "::commute::tp::SymbolValues":$symbols)>,
    InterfaceMethod<[{
      Returns the dim of the results along which the parts of all ranks are
      concatenated, or of which each rank has a part; nullopt if there is none.
    }], "std::optional<int64_t>", "getCollectiveAxis", (ins), [{}],
    "return std::nullopt;">,
    InterfaceMethod<[{
      Returns the reduction that combines the first operand over the ranks, or
      nullopt if the operand is only moved, or if the op reduces a value that it
      computes from the operand.
    }], "std::optional<::commute::tp::ReductionKind>", "getCollectiveReduction",
    (ins), [{}], "return std::nullopt;">,
    InterfaceMethod<[{
      Returns true if the result may be used only by a completion.
    }], "bool", "isAsynchronous", (ins), [{}], [{
      if constexpr (requires { $_op.getAsync(); })
        return $_op.getAsync();
      else
        return false;
    }]>,
    InterfaceMethod<[{
      Returns true if the results depend only on the data that a rank receives,
      from itself and from others: ranks that receive the same data have equal
      results.
    }], "bool", "dependsOnReceivedOnly", (ins), [{}], "return false;">,
    InterfaceMethod<[{
      Returns true if the first operand must have the same sizes on all ranks.
    }], "bool", "hasEqualOperands", (ins), [{}], "return true;">,
    InterfaceMethod<[{
      Describes the op by a text that is equal on all ranks that run the same
      collective.
    }], "std::string", "getCollectiveText", (ins), [{}], [{
      return ::commute::tp::getCollectiveText($_op, $_op.getCollectiveReduction(),
                                              $_op.getCollectiveAxis());
    }]>];
}

def TP_CompletionOpInterface : OpInterface<"CompletionOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that wait for the result of an asynchronous op. Their result is that
    value, with its type; no other op may use the value.
  }];
  let methods = [
    InterfaceMethod<"Returns the value that the op waits for.", "::mlir::Value",
                    "getBegun">];
}

def TP_IndexingOpInterface : OpInterface<"IndexingOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that read or write the elements of a tensor at indices that the program
    computes.
  }];
  let methods = [
    InterfaceMethod<"Returns the tensor that the indices refer to.",
                    "::mlir::Value", "getIndexed">,
    InterfaceMethod<"Returns the dim of that tensor that the indices refer to.",
                    "unsigned", "getIndexedDim">,
    InterfaceMethod<"Returns the indices, a tensor of integers.",
                    "::mlir::Value", "getIndexValues">,
    InterfaceMethod<"Returns true if -1 means the last index, as in Python.",
                    "bool", "wrapsNegativeIndices">];
}

def TP_RepetitionOpInterface : OpInterface<"RepetitionOpInterface"> {
  let cppNamespace = "::commute::tp";
  let description = [{
    Ops that mark the values at the borders of a layer that stands for several
    layers. The inputs of one repetition are the outputs of the previous one, so
    the marked values of a layer must have equal placements.
  }];
  let methods = [
    InterfaceMethod<"Returns the repeated layer.", "int64_t", "getLayer">,
    InterfaceMethod<[{
      Returns the border that is marked. The marks of a layer correspond by
      their order at each border.
    }], "unsigned", "getBorder">];
}

#endif // COMMUTE_DIALECT_TPINTERFACES
