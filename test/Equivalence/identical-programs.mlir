// Identical programs are proven by structure, whatever their size. What they
// allocate is not the same memory, unless nothing of it is seen.
// RUN: split-file %s %t
// RUN: commute verify %t/large.mlir %t/large.mlir --proof-memory=1MiB --json | FileCheck %s --check-prefix=LARGE
// RUN: commute verify %t/routed.mlir %t/routed.mlir --strict --proof-memory=1MiB --json | FileCheck %s --check-prefix=LARGE
// RUN: commute verify %t/written.mlir %t/written.mlir --json | FileCheck %s --check-prefix=LARGE
// RUN: not commute verify %t/seen.mlir %t/seen.mlir | FileCheck %s --check-prefix=SEEN
// RUN: not commute verify %t/other-mask.mlir %t/other-mask.mlir | FileCheck %s --check-prefix=SEEN
// RUN: not commute verify %t/twice.mlir %t/twice.mlir | FileCheck %s --check-prefix=SEEN

// LARGE: "equivalent": true
// LARGE: "evaluated_ops": 0
// SEEN: different: output 0 differs

//--- large.mlir
func.func @main(%x: tensor<65536x65536xf32>) -> tensor<65536x65536xf32> {
  %values, %order = tp.sort %x dim 0 : tensor<65536x65536xf32> -> tensor<65536x65536xf32>, tensor<65536x65536xi64>
  %r = tp.map exp(%values) : (tensor<65536x65536xf32>) -> tensor<65536x65536xf32>
  return %r : tensor<65536x65536xf32>
}

//--- routed.mlir
// Experts 8 and above are those of other ranks: their rows are masked out.
func.func @main(%x: tensor<64x16xf32>, %w: tensor<8x16x32xf32>, %e: tensor<64xf32>) -> tensor<64x32xf32> {
  %v, %rank = tp.sort %e dim 0 : tensor<64xf32> -> tensor<64xf32>, tensor<64xi64>
  %sixteen = tp.constant 16 : i64 -> tensor<i64>
  %expert = tp.map remainder(%rank, %sixteen) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
  %sorted, %order = tp.sort %expert dim 0 : tensor<64xi64> -> tensor<64xi64>, tensor<64xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<64x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  %column = tp.reshape %sorted : tensor<64xi64> -> tensor<64x1xi64>
  %all = tp.iota 0 : i64 step 1 : i64 -> tensor<8xi64>
  %is = tp.map equal(%column, %all) : (tensor<64x1xi64>, tensor<8xi64>) -> tensor<64x8xi1>
  %ones = tp.cast %is : tensor<64x8xi1> -> tensor<64x8xi64>
  %counts = tp.reduce sum %ones dims [0] : tensor<64x8xi64> -> tensor<8xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<8xi64> -> tensor<8xi64>
  %memory = tp.empty : tensor<64x32xf32>
  %product = tp.grouped_matmul %rows, %w offsets %ends rest %memory : (tensor<64x16xf32>, tensor<8x16x32xf32>, tensor<8xi64>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %active = tp.map exp(%product) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %eight = tp.constant 8 : i64 -> tensor<i64>
  %other = tp.map greater_equal(%sorted, %eight) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi1>
  %mask = tp.reshape %other : tensor<64xi1> -> tensor<64x1xi1>
  %zero = tp.constant 0.0 : f64 -> tensor<f64>
  %own = tp.map select(%mask, %zero, %active) : (tensor<64x1xi1>, tensor<f64>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %own : tensor<64x32xf32>
}

//--- other-mask.mlir
// Expert 8 has rows of no group, and is not masked out.
func.func @main(%x: tensor<64x16xf32>, %w: tensor<8x16x32xf32>, %e: tensor<64xf32>) -> tensor<64x32xf32> {
  %v, %rank = tp.sort %e dim 0 : tensor<64xf32> -> tensor<64xf32>, tensor<64xi64>
  %sixteen = tp.constant 16 : i64 -> tensor<i64>
  %expert = tp.map remainder(%rank, %sixteen) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
  %sorted, %order = tp.sort %expert dim 0 : tensor<64xi64> -> tensor<64xi64>, tensor<64xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<64x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  %column = tp.reshape %sorted : tensor<64xi64> -> tensor<64x1xi64>
  %all = tp.iota 0 : i64 step 1 : i64 -> tensor<8xi64>
  %is = tp.map equal(%column, %all) : (tensor<64x1xi64>, tensor<8xi64>) -> tensor<64x8xi1>
  %ones = tp.cast %is : tensor<64x8xi1> -> tensor<64x8xi64>
  %counts = tp.reduce sum %ones dims [0] : tensor<64x8xi64> -> tensor<8xi64>
  %ends = tp.rowwise cumulative_sum %counts dim 0 : tensor<8xi64> -> tensor<8xi64>
  %memory = tp.empty : tensor<64x32xf32>
  %product = tp.grouped_matmul %rows, %w offsets %ends rest %memory : (tensor<64x16xf32>, tensor<8x16x32xf32>, tensor<8xi64>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %nine = tp.constant 9 : i64 -> tensor<i64>
  %other = tp.map greater_equal(%sorted, %nine) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi1>
  %mask = tp.reshape %other : tensor<64xi1> -> tensor<64x1xi1>
  %zero = tp.constant 0.0 : f64 -> tensor<f64>
  %own = tp.map select(%mask, %zero, %product) : (tensor<64x1xi1>, tensor<f64>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %own : tensor<64x32xf32>
}

//--- written.mlir
func.func @main(%x: tensor<24xf32>) -> tensor<24xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<24xf32> -> tensor<24xf32>, tensor<24xi64>
  %e = tp.empty : tensor<24xi64>
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<24xi64>
  %r = tp.scatter %e, %order, %i dim 0 : (tensor<24xi64>, tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  return %r : tensor<24xi64>
}

//--- seen.mlir
// The quotients are no permutation.
func.func @main(%x: tensor<24xf32>) -> tensor<24xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<24xf32> -> tensor<24xf32>, tensor<24xi64>
  %two = tp.constant 2 : i64 -> tensor<i64>
  %half = tp.map floor_div(%order, %two) : (tensor<24xi64>, tensor<i64>) -> tensor<24xi64>
  %e = tp.empty : tensor<24xi64>
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<24xi64>
  %r = tp.scatter %e, %half, %i dim 0 : (tensor<24xi64>, tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  return %r : tensor<24xi64>
}

//--- twice.mlir
// Only the first of two uses is written over.
func.func @main(%x: tensor<24xf32>) -> (tensor<24xi64>, tensor<24xi64>) {
  %values, %order = tp.sort %x dim 0 : tensor<24xf32> -> tensor<24xf32>, tensor<24xi64>
  %e = tp.empty : tensor<24xi64>
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<24xi64>
  %r = tp.scatter %e, %order, %i dim 0 : (tensor<24xi64>, tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  %s = tp.map add(%e, %r) : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  return %s, %r : tensor<24xi64>, tensor<24xi64>
}
