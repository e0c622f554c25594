//===- ResultTypesTest.cpp - tests of inferred result types ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The verifiers use the same inference; test/Dialect covers their errors.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/TPDialect.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Verifier.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute::tp;

namespace {

class ResultTypesTest : public testing::Test {
protected:
  ResultTypesTest() : builder(&context), symbols(&context) {
    context.loadDialect<TPDialect>();
    group =
        cast<GroupAttr>(parseAttribute(R"(#tp.group<"0", [0, 1]>)", &context));
  }
  ~ResultTypesTest() override {
    for (Operation *op : llvm::reverse(ops))
      op->destroy();
  }

  /// A value of this type.
  Value get(StringRef type) {
    OperationState state(builder.getUnknownLoc(), "tp.call");
    state.addAttribute("callee", builder.getStringAttr("input"));
    state.addAttribute("arguments", builder.getStringAttr("[]"));
    state.addTypes(parseType(type, &context));
    return keep(builder.create(state))->getResult(0);
  }
  template <typename Op, typename... Arguments>
  Op create(Arguments &&...arguments) {
    auto op = Op::create(builder, builder.getUnknownLoc(),
                         std::forward<Arguments>(arguments)...);
    keep(op);
    EXPECT_TRUE(succeeded(verify(op)));
    return op;
  }
  static std::string print(Value value) {
    std::string text;
    llvm::raw_string_ostream(text) << value.getType();
    return text;
  }

  MLIRContext context;
  OpBuilder builder;
  SymbolSpace symbols;
  GroupAttr group;

private:
  Operation *keep(Operation *op) {
    ops.push_back(op);
    return op;
  }
  SmallVector<Operation *> ops;
};

} // namespace

TEST_F(ResultTypesTest, StridesFollowFromTheOperand) {
  Value permuted =
      create<PermuteOp>(get("tensor<4x8xf32>"), ArrayRef<int64_t>{1, 0});
  EXPECT_EQ(print(permuted), "tensor<8x4xf32, #tp.layout<strides = [1, 8]>>");
  EXPECT_EQ(print(create<CopyOp>(permuted, /*preserve_strides=*/false)),
            "tensor<8x4xf32>");
  EXPECT_EQ(print(create<CopyOp>(permuted, /*preserve_strides=*/true)),
            "tensor<8x4xf32, #tp.layout<strides = [1, 8]>>");
  EXPECT_EQ(print(create<SliceOp>(get("tensor<4x8xf32>"), symbols, 1, 2, 1, 3)),
            "tensor<4x3xf32, #tp.layout<strides = [8, 1]>>");
  // The layout of an attention depends on the kernel that runs it.
  Value heads = get("tensor<2x4x8x16xf32>");
  auto attention = create<AttentionOp>(heads, heads, heads, Value(),
                                       /*is_causal=*/true,
                                       /*grouped_heads=*/false, FloatAttr());
  EXPECT_EQ(print(attention.getResult()),
            "tensor<2x4x8x16xf32, #tp.layout<strides = ?>>");
}

TEST_F(ResultTypesTest, SizesAreSymbolic) {
  Value rows = get("tensor<?x8xf32, #tp.layout<[s0] sizes = [s0, 8]>>");
  EXPECT_EQ(print(create<AllGatherOp>(rows, 0, group, /*async=*/false)),
            "tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 2, 8]>>");
  EXPECT_EQ(print(create<ConcatOp>(ValueRange{rows, rows}, 0)),
            "tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 2, 8]>>");
  // Assumed to be divisible.
  EXPECT_EQ(print(create<ReduceScatterOp>(ReductionKind::Sum, rows, 0, group,
                                          /*async=*/false)),
            "tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 floordiv 2, 8]>>");
  Sizes sizes = symbols.getSizes(cast<RankedTensorType>(rows.getType()));
  EXPECT_EQ(
      print(create<ReshapeOp>(rows, symbols, Sizes{multiply(sizes[0], 4), 2})),
      "tensor<?x2xf32, #tp.layout<[s0] sizes = [s0 * 4, 2]>>");
}

TEST_F(ResultTypesTest, ElementTypesAreThoseOfTheOperandsOrStated) {
  Value a = get("tensor<4x8xf16>"), b = get("tensor<8xf16>");
  Value wide = get("tensor<8xf32>");
  EXPECT_EQ(print(create<MapOp>(MapFunction::Add, ValueRange{a, b})),
            "tensor<4x8xf16>");
  EXPECT_EQ(print(create<MapOp>(MapFunction::Less, ValueRange{a, wide})),
            "tensor<4x8xi1>");
  EXPECT_EQ(print(create<MapOp>(MapFunction::Add, ValueRange{a, wide},
                                builder.getF32Type())),
            "tensor<4x8xf32>");
  Value weight = get("tensor<8x2xf16>");
  EXPECT_EQ(
      print(create<MatmulOp>(a, weight, Value(), Value(), Value(),
                             /*transpose_lhs=*/false,
                             /*transpose_rhs=*/false, builder.getF32Type())),
      "tensor<4x2xf32>");
  auto fused = create<AllGatherMatmulOp>(
      a, ValueRange{weight}, ValueRange(), Value(), ValueRange(), 0, group,
      /*returnsGathered=*/true, TypeRange{builder.getF32Type()});
  EXPECT_EQ(print(fused.getOutputs()[0]), "tensor<8x8xf16>");
  EXPECT_EQ(print(fused.getOutputs()[1]), "tensor<8x2xf32>");
}

TEST_F(ResultTypesTest, ReportsWhatDoesNotFit) {
  std::string error;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    error = diagnostic.str();
    return success();
  });
  auto gather = create<AllGatherOp>(get("tensor<4x8xf32>"), 0, group,
                                    /*async=*/false);
  SmallVector<Type> types;
  ResultShape stated{builder.getF32Type(), Sizes{4, 8}};
  EXPECT_TRUE(failed(gather.inferResultTypes(symbols, stated, types)));
  EXPECT_EQ(error, "'tp.all_gather' op result has size 4 along dim 0, "
                   "expected 8");
  // Nothing is reported without a location.
  error.clear();
  Value mixed[] = {get("tensor<8xf32>"), get("tensor<4xf32>")};
  MapOp::Properties properties;
  properties.function = MapFunctionAttr::get(&context, MapFunction::Add);
  EXPECT_TRUE(failed(MapOp::inferReturnTypes(&context, std::nullopt, mixed,
                                             DictionaryAttr(), &properties, {},
                                             types)));
  EXPECT_EQ(error, "");
  EXPECT_TRUE(failed(MapOp::inferReturnTypes(&context, builder.getUnknownLoc(),
                                             mixed, DictionaryAttr(),
                                             &properties, {}, types)));
  EXPECT_EQ(error,
            "'tp.map' op operands cannot be broadcast to a common shape");
}
