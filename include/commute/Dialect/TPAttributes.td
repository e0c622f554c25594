//===- TPAttributes.td - attributes and types of tp --------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPATTRIBUTES
#define COMMUTE_DIALECT_TPATTRIBUTES

include "commute/Dialect/TPBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"

class TP_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<TP_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Group
//===----------------------------------------------------------------------===//

def TP_GroupAttr : TP_Attr<"Group", "group"> {
  let summary = "A group of ranks, with its members in order";
  let description = [{
    The ranks that take part in a collective. A group is one ordered list of
    members or, for an axis of a device mesh, the list of all groups along the
    axis: every rank runs the same graph and uses the group that it belongs to.
    The blocks of a collective are in the order of the members, not of the rank
    numbers.

    ```mlir
    #tp.group<"0", [0, 1, 2, 3]>
    #tp.group<"tp", [[0, 1], [2, 3]]>
    ```

    Two groups are the same only if they have the same members
    (`hasSameMembers`): groups of equal size are not interchangeable, and one
    group may have several names. The name is PyTorch's name of the process
    group; it is empty for groups that a program identifies by their ranks
    alone. Long runs of ranks are printed as ranges.

    ```mlir
    #tp.group<"world", [0 to 4095]>
    #tp.group<"dp", size = 2>
    ```

    A group with unknown members has a size but no ranks. It is the same as any
    group with its name; whether it shares ranks with any other group is
    unknown. See `hasKnownMembers`.
  }];
  let parameters = (ins
    StringRefParameter<"registered name of the process group">:$name,
    "int64_t":$size,
    ArrayRefParameter<"int64_t", "members, one group after the other; none "
                                 "where they are not known">:$ranks);
  // The storage also holds the index of each rank.
  let genStorageClass = 0;
  let builders = [
    AttrBuilderWithInferredContext<(ins "::mlir::MLIRContext *":$context,
                                        "::llvm::StringRef":$name,
                                        "::llvm::ArrayRef<int64_t>":$ranks), [{
      return $_get(context, name, static_cast<int64_t>(ranks.size()), ranks);
    }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The largest number of ranks, a bound for hostile input.
    static constexpr int64_t maxRanks = 1 << 20;

    /// Returns true if the program or the user states the members.
    bool hasKnownMembers() const { return !getRanks().empty(); }
    /// Formats the members as in --group: "0-3", "0-1/2-3".
    std::string formatMembers() const;
    /// Returns the name or, for a group without a name, its ranks: "0,1".
    /// Placements are keyed by it.
    std::string getKey() const;
    /// Returns the number of groups along the axis: 1 for a plain group, 0 if
    /// the members are unknown.
    int64_t getNumGroups() const { return getRanks().size() / getSize(); }
    /// Returns the members of group number `index`.
    ::llvm::ArrayRef<int64_t> getMembers(int64_t index) const {
      return getRanks().slice(index * getSize(), getSize());
    }
    /// Returns the members of the group that contains `rank`, or an empty list
    /// if no group does.
    ::llvm::ArrayRef<int64_t> getMembersAround(int64_t rank) const;
    /// Returns the position of `rank` in its group, or nullopt if no group
    /// contains it.
    std::optional<int64_t> getPosition(int64_t rank) const;
    /// Returns true if both have the same groups with members in the same
    /// order, whatever their names. Groups with unknown members are compared by
    /// name.
    bool hasSameMembers(GroupAttr other) const {
      return getSize() == other.getSize() && getRanks() == other.getRanks() &&
             (hasKnownMembers() || getName() == other.getName());
    }

  private:
    /// Returns the index of `rank` in the list of all ranks.
    std::optional<int64_t> findRank(int64_t rank) const;

  public:
  }];
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

def TP_LayoutAttr : TP_Attr<"Layout", "layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Symbolic sizes and strides of a tensor";
  let description = [{
    The encoding of tensors whose sizes are symbolic or whose elements are not
    dense in row-major order. Sizes and strides (in elements) are expressions
    over named symbols, so divisibility can be proven: `8 * s0` is divisible by
    4 for every `s0`.

    ```mlir
    tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
    tensor<?x64xf32, #tp.layout<[s77] sizes = [s77 * 8, 64]>>
    tensor<?x64xf32, #tp.layout<[s77] sizes = [s77 * 8, 64],
                                      strides = [1, s77 * 8]>>
    tensor<4x2xf32, #tp.layout<strides = ?>>
    ```

    Sizes are omitted if all are static. Strides are omitted if they are dense
    in row-major order, and are `?` if they are unknown. A static dense tensor
    has no encoding.
  }];
  let parameters = (ins
    ArrayRefParameter<"::mlir::StringAttr", "names of symbols s0, s1, ...">:$symbols,
    ArrayRefParameter<"::mlir::AffineExpr">:$sizes,
    ArrayRefParameter<"::mlir::AffineExpr">:$strides,
    "bool":$knowsStrides);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and placements
//===----------------------------------------------------------------------===//

def TP_ReductionKind : I32EnumAttr<"ReductionKind", "how values are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">,
    I32EnumAttrCase<"Avg", 1, "avg">,
    I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Product", 4, "product">]> {
  let cppNamespace = "::commute::tp";
  let genSpecializedAttr = 0;
}
def TP_ReductionKindAttr : EnumAttr<TP_Dialect, TP_ReductionKind, "reduction">;

def TP_PlacementKind : I32EnumAttr<"PlacementKind",
    "how a value relates to its peers on the other ranks of a group", [
    I32EnumAttrCase<"Replicated", 0, "replicated">,
    I32EnumAttrCase<"Shard", 1, "shard">,
    I32EnumAttrCase<"Partial", 2, "partial">,
    I32EnumAttrCase<"Varying", 3, "varying">]> {
  let cppNamespace = "::commute::tp";
  let genSpecializedAttr = 0;
}

def TP_PlacementAttr : TP_Attr<"Placement", "placement"> {
  let summary = "How a value relates to its peers on the other ranks of a group";
  let description = [{
    | placement | the values of the ranks |
    |---|---|
    | `replicated` | are equal |
    | `shard(d)` | are the blocks of one tensor along dim d, in the order of the group |
    | `partial(kind)` | reduce to one tensor by the reduction `kind` |
    | `varying` | differ in an unknown way |

    ```mlir
    #tp.placement<shard(0)>
    ```
  }];
  let parameters = (ins
    "::commute::tp::PlacementKind":$kind,
    "int64_t":$dim,
    "::commute::tp::ReductionKind":$reduction);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static PlacementAttr getReplicated(::mlir::MLIRContext *context);
    static PlacementAttr getShard(::mlir::MLIRContext *context, int64_t dim);
    static PlacementAttr getPartial(::mlir::MLIRContext *context,
                                    ReductionKind reduction);
    static PlacementAttr getVarying(::mlir::MLIRContext *context);
    /// Parses "replicated", "shard(0)", "partial(sum)" or "varying". Returns a
    /// null attribute for any other text.
    static PlacementAttr parseText(::mlir::MLIRContext *context,
                                   ::llvm::StringRef text);
    /// The inverse of `parseText`.
    std::string getText() const;
  }];
}

//===----------------------------------------------------------------------===//
// Functions of elementwise and row-wise ops
//===----------------------------------------------------------------------===//

/// The functions are the rows of ScalarFunctions.def.
def TP_MapFunction
    : AttrParameter<"::commute::tp::MapFunction", "a scalar function"> {
  let parser = "::commute::tp::parseMapFunction($_parser)";
  let printer = "$_printer << ::commute::tp::stringifyMapFunction($_self)";
}

def TP_MapFunctionAttr : TP_Attr<"MapFunction", "map_function"> {
  let summary = "A scalar function";
  let description = [{
    The functions are listed in `include/commute/Dialect/ScalarFunctions.def`.

    ```mlir
    #tp<map_function floor_div>
    ```
  }];
  let parameters = (ins TP_MapFunction:$value);
  let assemblyFormat = "$value";
  let returnType = "::commute::tp::MapFunction";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall =
      "::commute::tp::MapFunctionAttr::get($_builder.getContext(), $0)";
}

def TP_RowFunction : I32EnumAttr<"RowFunction", "a function of whole rows", [
    I32EnumAttrCase<"Softmax", 0, "softmax">,
    I32EnumAttrCase<"LogSoftmax", 1, "log_softmax">,
    I32EnumAttrCase<"CumulativeSum", 2, "cumulative_sum">]> {
  let cppNamespace = "::commute::tp";
  let genSpecializedAttr = 0;
}
def TP_RowFunctionAttr : EnumAttr<TP_Dialect, TP_RowFunction, "row_function">;

def TP_RegionMarkerKind : I32EnumAttr<"RegionMarkerKind", "what is marked", [
    I32EnumAttrCase<"Begin", 0, "begin">, I32EnumAttrCase<"End", 1, "end">,
    I32EnumAttrCase<"Copy", 2, "copy">]> {
  let cppNamespace = "::commute::tp";
  let genSpecializedAttr = 0;
}
def TP_RegionMarkerKindAttr
    : EnumAttr<TP_Dialect, TP_RegionMarkerKind, "region_marker_kind">;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def TP_OpaqueType : TypeDef<TP_Dialect, "Opaque"> {
  let mnemonic = "opaque";
  let summary = "A value that is neither a tensor nor a number";
  let description = [{
    Effect tokens and custom (torch-bind) objects, which pass through a graph
    from inputs to opaque calls.
  }];
}

#endif // COMMUTE_DIALECT_TPATTRIBUTES
