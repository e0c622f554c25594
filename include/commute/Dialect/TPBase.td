//===- TPBase.td - the tp dialect itself -------------------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPBASE
#define COMMUTE_DIALECT_TPBASE

include "mlir/IR/OpBase.td"

def TP_Dialect : Dialect {
  let name = "tp";
  let cppNamespace = "::commute::tp";
  let summary = "Tensor-parallel programs: tensor ops, collectives, groups";
  let description = [{
    The program that one rank of a tensor-parallel group runs: ops on local
    tensors, and collectives that exchange them with the other ranks. Every
    rank runs the same graph; where the graphs of the ranks differ in a value,
    `tp.rank_select` holds that of each.

    The dialect has few ops, grouped by how they treat dimensions rather than
    one per PyTorch function. What passes need to know of an op they ask of its
    interfaces: which dimensions may be sharded (dimension rule), how much it
    computes and moves (work), which memory layout it produces (strides).

    Values are builtin ranked tensors. A tensor without an encoding has static
    sizes and is dense in row-major order; everything else is said by a
    `#tp.layout` encoding.

    Discardable attributes that tie an op to the PyTorch graph it came from:

    | attribute | on | meaning |
    |---|---|---|
    | `tp.names` | any op | the names of its results in the PyTorch graph; what has none was made by a pass or is part of another op's expansion |
    | `tp.target` | any op | the PyTorch operator the op was read from |
    | `tp.variant` | ops of programs that differ between ranks | the op is in the graphs of some ranks only, and a `tp.rank_select` selects its results |
    | `tp.arguments_of_ranks` | `tp.call` | the op's arguments in the graphs of the ranks: a list of texts, and the last operand is the index of the rank's own |
    | `tp.name`, `tp.kind`, `tp.parameter` | function arguments | graph name; `parameter`, `buffer`, `user`, ...; the name of the parameter in the module |
    | `tp.value` | function arguments | the number that a constant of one element is |
    | `tp.placements` | function arguments | dictionary from group name to `#tp.placement`: what was stated about this input |
    | `tp.signature` | the function | how the exported program is called: structure of its inputs and outputs, kinds and targets of its outputs, constants among both |
    | `tp.rank_specific` | the module | the program is that of `tp.rank` alone and may say so in its ops: TensorCast's programs, and others with `--rank` |
    | `tp.group_spellings` | the module | the groups whose collectives are those of another system, such as vLLM, and what these can say |
    | `tp.size_ranges` | the module | the smallest and largest values of symbolic sizes that the program is compiled for |
    | `tp.groups`, `tp.rank`, `tp.assumptions`, `tp.symbol_hints` | the module | the groups, the rank the graph was captured on, what the user assumes of symbolic sizes, their values at capture |
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Names of the discardable attributes that tie ops to the PyTorch graph.
    static constexpr ::llvm::StringLiteral namesAttrName = "tp.names";
    static constexpr ::llvm::StringLiteral targetAttrName = "tp.target";
    static constexpr ::llvm::StringLiteral variantAttrName = "tp.variant";
    static constexpr ::llvm::StringLiteral argumentsOfRanksAttrName =
        "tp.arguments_of_ranks";
    static constexpr ::llvm::StringLiteral nameAttrName = "tp.name";
    static constexpr ::llvm::StringLiteral kindAttrName = "tp.kind";
    static constexpr ::llvm::StringLiteral parameterAttrName = "tp.parameter";
    static constexpr ::llvm::StringLiteral valueAttrName = "tp.value";
    static constexpr ::llvm::StringLiteral placementsAttrName = "tp.placements";
    static constexpr ::llvm::StringLiteral signatureAttrName = "tp.signature";
    static constexpr ::llvm::StringLiteral groupsAttrName = "tp.groups";
    static constexpr ::llvm::StringLiteral rankAttrName = "tp.rank";
    static constexpr ::llvm::StringLiteral rankSpecificAttrName =
        "tp.rank_specific";
    static constexpr ::llvm::StringLiteral assumptionsAttrName =
        "tp.assumptions";
    static constexpr ::llvm::StringLiteral symbolHintsAttrName =
        "tp.symbol_hints";

    void registerAttributes();
    void registerTypes();
    void registerOps();
  }];
}

#endif // COMMUTE_DIALECT_TPBASE
