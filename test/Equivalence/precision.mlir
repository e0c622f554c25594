// A cast to a narrower type is nothing to the algebra, and a function of its own
// under strict precision.
// RUN: split-file %s %t
// RUN: commute verify %t/cast-last.mlir %t/cast-first.mlir
// RUN: not commute verify %t/cast-last.mlir %t/cast-first.mlir --precision=strict | FileCheck %s
// RUN: commute verify %t/cast-last.mlir %t/cast-between.mlir --precision=strict
// RUN: not commute verify %t/cast-last.mlir %t/cast-last.mlir --precision=exact 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// CHECK: different: output 0 differs on rank 0
// UNKNOWN: --precision=exact: expected algebraic or strict

//--- cast-last.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xbf16> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    %1 = tp.cast %0 : tensor<4x6xf32> -> tensor<4x6xbf16>
    return %1 : tensor<4x6xbf16>
  }
}

//--- cast-first.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xbf16> {
    %0 = tp.cast %x : tensor<4x6xf32> -> tensor<4x6xbf16>
    %1 = tp.all_reduce sum %0 group <"0", [0, 1]> : tensor<4x6xbf16> -> tensor<4x6xbf16>
    return %1 : tensor<4x6xbf16>
  }
}

//--- cast-between.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xbf16> {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<2x6xf32>
    %1 = tp.cast %0 : tensor<2x6xf32> -> tensor<2x6xbf16>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1]> : tensor<2x6xbf16> -> tensor<4x6xbf16>
    return %2 : tensor<4x6xbf16>
  }
}
