// Sizes: symbolic ones take their value at capture or, without one, any; and
// numbers that derive from a size stay those of the real one when programs are
// made smaller.
// RUN: split-file %s %t
// RUN: commute verify %t/reduced.mlir %t/scattered.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/, tp.symbol_hints = .*i64}//' %t/reduced.mlir > %t/reduced-any.mlir
// RUN: sed 's/, tp.symbol_hints = .*i64}//' %t/scattered.mlir > %t/scattered-any.mlir
// RUN: commute verify %t/reduced-any.mlir %t/scattered-any.mlir | FileCheck %s --check-prefix=SAME
// RUN: sh %t/expect-2.sh %t/unknown.mlir %t/unknown.mlir | FileCheck %s --check-prefix=UNKNOWN
// RUN: commute verify %t/product.mlir %t/product.mlir | FileCheck %s --check-prefix=SMALLEST
// RUN: commute verify %t/mean.mlir %t/sum-by-96.mlir | FileCheck %s --check-prefix=ONE
// RUN: sed s/96.0/2.0/ %t/sum-by-96.mlir > %t/sum-by-2.mlir
// RUN: sed s/96.0/3.0/ %t/sum-by-96.mlir > %t/sum-by-3.mlir
// RUN: sed s/96.0/4.0/ %t/sum-by-96.mlir > %t/sum-by-4.mlir
// RUN: not commute verify %t/mean.mlir %t/sum-by-2.mlir
// RUN: not commute verify %t/mean.mlir %t/sum-by-3.mlir
// RUN: not commute verify %t/mean.mlir %t/sum-by-4.mlir
// RUN: commute verify %t/default-scale.mlir %t/stated-scale.mlir | FileCheck %s --check-prefix=ONE

// SAME: equivalent on 2 ranks
// ONE: equivalent on 1 rank
// UNKNOWN: the size of a dim is not stated, or exceeds 64 bits, of a value of type tensor<?x64xf32>
// UNKNOWN-NOT: exit code
// SMALLEST: equivalent on 1 rank
// SMALLEST: sizes were a = 1 and 3, b = 1 and 3,

//--- expect-2.sh
commute verify "$@" 2>&1
test $? -eq 2 || echo "the exit code is not 2"

//--- reduced.mlir
!whole = tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 2, 64]>>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>], tp.symbol_hints = {s0 = 5 : i64}} {
  func.func @main(%x: !whole {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}) -> !whole {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : !whole -> !whole
    return %0 : !whole
  }
}

//--- scattered.mlir
!whole = tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 2, 64]>>
!local = tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64]>>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>], tp.symbol_hints = {s0 = 5 : i64}} {
  func.func @main(%x: !whole {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}) -> !whole {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]> : !whole -> !local
    %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : !local -> !whole
    return %1 : !whole
  }
}

//--- unknown.mlir
func.func @main(%x: tensor<?x64xf32> {tp.name = "x"}) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}

//--- product.mlir
// Of 16 each, these would exceed 64 bits.
!product = tensor<?xf32, #tp.layout<[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] sizes = [a * b * c * d * e * f * g * h * i * j * k * l * m * n * o * p * q]>>
func.func @main(%x: !product {tp.name = "x"}) -> !product {
  return %x : !product
}

//--- mean.mlir
func.func @main(%x: tensor<64x96xf32> {tp.name = "x"}) -> tensor<64x1xf32> {
  %0 = tp.reduce avg %x dims [1] keep_dims : tensor<64x96xf32> -> tensor<64x1xf32>
  return %0 : tensor<64x1xf32>
}

//--- sum-by-96.mlir
func.func @main(%x: tensor<64x96xf32> {tp.name = "x"}) -> tensor<64x1xf32> {
  %0 = tp.reduce sum %x dims [1] keep_dims : tensor<64x96xf32> -> tensor<64x1xf32>
  %1 = tp.constant 96.0 : f64 -> tensor<f32>
  %2 = tp.map div(%0, %1) : (tensor<64x1xf32>, tensor<f32>) -> tensor<64x1xf32>
  return %2 : tensor<64x1xf32>
}

//--- default-scale.mlir
func.func @main(%q: tensor<2x4x8x16xf32> {tp.name = "q"}) -> tensor<2x4x8x16xf32> {
  %0 = tp.attention %q, %q, %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %0 : tensor<2x4x8x16xf32>
}

//--- stated-scale.mlir
func.func @main(%q: tensor<2x4x8x16xf32> {tp.name = "q"}) -> tensor<2x4x8x16xf32> {
  %0 = tp.attention %q, %q, %q scale 0.25 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return %0 : tensor<2x4x8x16xf32>
}
