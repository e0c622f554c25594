// What values do not show of results and of collectives' inputs.
// RUN: split-file %s %t
// RUN: not commute verify %t/captured.mlir %t/other-strides.mlir | FileCheck %s --check-prefix=STRIDES
// RUN: commute verify --accept-layouts %t/captured.mlir %t/other-strides.mlir | FileCheck %s --check-prefix=STRIDES
// RUN: not commute verify --json %t/captured.mlir %t/other-strides.mlir | FileCheck %s --check-prefix=JSON
// RUN: not commute verify --accept-layouts %t/captured.mlir %t/other-type.mlir | FileCheck %s --check-prefix=TYPE
// RUN: not commute verify %t/captured.mlir %t/other-shape.mlir | FileCheck %s --check-prefix=SHAPE
// RUN: not commute verify --accept-layouts %t/captured.mlir %t/other-strides-and-values.mlir | FileCheck %s --check-prefix=VALUES
// RUN: not commute verify %t/captured.mlir %t/not-dense.mlir | FileCheck %s --check-prefix=DENSE
// RUN: commute verify %t/not-dense.mlir %t/captured.mlir
// RUN: commute verify %t/maximum.mlir %t/maximum.mlir
// RUN: not commute verify %t/maximum.mlir %t/no-maximum.mlir

// STRIDES: the values are the same on 2 ranks, in another layout
// STRIDES-NEXT: other layout: output 0 has type tensor<12x4xf32, #tp.layout<strides = [1, 12]>> instead of tensor<12x4xf32>: other strides
// TYPE: different: output 0 has element type bf16 instead of f32
// SHAPE: different: output 0 has type tensor<4x12xf32> instead of tensor<12x4xf32>
// VALUES-NOT: the values are the same
// VALUES: other layout: output 0 has
// VALUES: different: output 0 differs
// JSON: "kind": "layout"
// JSON: "verdict": "other layout"
// DENSE: other layout: the second program gives a collective an input that may not be dense where the first does not

//--- captured.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<12x4xf32> {
    %0 = tp.permute %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32, #tp.layout<strides = [1, 6]>>
    %1 = tp.copy %0 : tensor<6x4xf32, #tp.layout<strides = [1, 6]>> -> tensor<6x4xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1]> : tensor<6x4xf32> -> tensor<12x4xf32>
    return %2 : tensor<12x4xf32>
  }
}

//--- other-strides.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<12x4xf32, #tp.layout<strides = [1, 12]>> {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x12xf32>
    %1 = tp.permute %0 [1, 0] : tensor<4x12xf32> -> tensor<12x4xf32, #tp.layout<strides = [1, 12]>>
    return %1 : tensor<12x4xf32, #tp.layout<strides = [1, 12]>>
  }
}

//--- other-strides-and-values.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<12x4xf32, #tp.layout<strides = [1, 12]>> {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x12xf32>
    %1 = tp.map neg(%0) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %2 = tp.permute %1 [1, 0] : tensor<4x12xf32> -> tensor<12x4xf32, #tp.layout<strides = [1, 12]>>
    return %2 : tensor<12x4xf32, #tp.layout<strides = [1, 12]>>
  }
}

//--- other-type.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<12x4xbf16> {
    %0 = tp.permute %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32, #tp.layout<strides = [1, 6]>>
    %1 = tp.copy %0 : tensor<6x4xf32, #tp.layout<strides = [1, 6]>> -> tensor<6x4xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1]> : tensor<6x4xf32> -> tensor<12x4xf32>
    %3 = tp.cast %2 : tensor<12x4xf32> -> tensor<12x4xbf16>
    return %3 : tensor<12x4xbf16>
  }
}

//--- other-shape.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x12xf32> {
    %0 = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x12xf32>
    return %0 : tensor<4x12xf32>
  }
}

//--- not-dense.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<12x4xf32> {
    %0 = tp.permute %x [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32, #tp.layout<strides = [1, 6]>>
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<6x4xf32, #tp.layout<strides = [1, 6]>> -> tensor<12x4xf32>
    return %1 : tensor<12x4xf32>
  }
}

//--- maximum.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.constant 0.0 : f64 -> tensor<f32>
  %1 = tp.map maximum(%x, %0) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

//--- no-maximum.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  return %x : tensor<4x6xf32>
}
