// Memory that is not initialized differs between ranks, ops and programs. What
// is written over it may be compared; what depends on it is equal to nothing.
// RUN: split-file %s %t
// RUN: commute verify %t/filled.mlir %t/filled-other.mlir
// RUN: commute verify %t/rows.mlir %t/rows-concat.mlir
// RUN: commute verify %t/masked.mlir %t/masked-zero.mlir
// RUN: not commute verify %t/returned.mlir %t/returned.mlir 2>&1 | FileCheck %s --check-prefix=RETURNED
// RUN: not commute verify %t/difference.mlir %t/zero.mlir
// RUN: not commute verify %t/summed.mlir %t/doubled.mlir
// RUN: not commute verify %t/compared.mlir %t/not-compared.mlir

// RUN: commute verify %t/given.mlir %t/given-view.mlir
// RUN: not commute verify %t/given.mlir %t/given-other.mlir

// RETURNED: output 0 differs

//--- filled.mlir
func.func @main(%x: tensor<512x64xf32>, %y: tensor<512x64xf32>) -> tensor<512x128xf32> {
  %e = tp.empty : tensor<512x128xf32>
  %right = tp.slice %e dim 1 start 64 step 1 : tensor<512x128xf32> -> tensor<512x64xf32, #tp.layout<strides = [128, 1]>>
  %first = tp.concat %x, %right dim 1 : (tensor<512x64xf32>, tensor<512x64xf32, #tp.layout<strides = [128, 1]>>) -> tensor<512x128xf32>
  %left = tp.slice %first dim 1 start 0 step 1 : tensor<512x128xf32> -> tensor<512x64xf32, #tp.layout<strides = [128, 1]>>
  %r = tp.concat %left, %y dim 1 : (tensor<512x64xf32, #tp.layout<strides = [128, 1]>>, tensor<512x64xf32>) -> tensor<512x128xf32>
  return %r : tensor<512x128xf32>
}

//--- filled-other.mlir
func.func @main(%x: tensor<512x64xf32>, %y: tensor<512x64xf32>) -> tensor<512x128xf32> {
  %r = tp.concat %x, %y dim 1 : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x128xf32>
  return %r : tensor<512x128xf32>
}

//--- rows.mlir
// The inverse of a permutation is written over all of the memory.
func.func @main(%x: tensor<24xf32>) -> tensor<24xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<24xf32> -> tensor<24xf32>, tensor<24xi64>
  %e = tp.empty : tensor<24xi64>
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<24xi64>
  %r = tp.scatter %e, %order, %i dim 0 : (tensor<24xi64>, tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  return %r : tensor<24xi64>
}

//--- rows-concat.mlir
func.func @main(%x: tensor<24xf32>) -> tensor<24xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<24xf32> -> tensor<24xf32>, tensor<24xi64>
  %same, %r = tp.sort %order dim 0 : tensor<24xi64> -> tensor<24xi64>, tensor<24xi64>
  return %r : tensor<24xi64>
}

//--- masked.mlir
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tp.empty : tensor<64xf32>
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %n = tp.constant 64 : i64 -> tensor<i64>
  %inside = tp.map less(%i, %n) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi1>
  %r = tp.map select(%inside, %x, %e) : (tensor<64xi1>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- masked-zero.mlir
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = tp.copy %x : tensor<64xf32> -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- returned.mlir
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tp.empty : tensor<64xf32>
  %r = tp.map add(%x, %e) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- difference.mlir
// Two tensors differ, though one op looks like the other.
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = tp.empty : tensor<64xf32>
  %b = tp.empty : tensor<64xf32>
  %d = tp.map sub(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %r = tp.map add(%x, %d) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- zero.mlir
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = tp.copy %x : tensor<64xf32> -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- summed.mlir
// It differs between ranks: their sum is not a multiple of a rank's own.
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
func.func @main(%x: tensor<64xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<64xf32> {
  %e = tp.empty : tensor<64xf32>
  %two = tp.constant 2.0 : f64 -> tensor<f64>
  %all = tp.all_reduce sum %e group <"0", [0, 1]> : tensor<64xf32> -> tensor<64xf32>
  %twice = tp.map mul(%e, %two) : (tensor<64xf32>, tensor<f64>) -> tensor<64xf32>
  %d = tp.map sub(%all, %twice) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %r = tp.map add(%x, %d) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
}

//--- doubled.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
func.func @main(%x: tensor<64xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<64xf32> {
  %r = tp.copy %x : tensor<64xf32> -> tensor<64xf32>
  return %r : tensor<64xf32>
}
}

//--- compared.mlir
// An integer in it may be any, also one that the program asks for.
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tp.empty : tensor<64xi64>
  %five = tp.constant 5 : i64 -> tensor<i64>
  %zero = tp.constant 0.0 : f64 -> tensor<f64>
  %is = tp.map equal(%e, %five) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi1>
  %r = tp.map select(%is, %zero, %x) : (tensor<64xi1>, tensor<f64>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- not-compared.mlir
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = tp.copy %x : tensor<64xf32> -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- given.mlir
// Most operators that get it write over it: an opaque one is taken to find the
// same there in both programs.
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tp.empty : tensor<64xf32>
  %r = tp.call "my.write.default"(%e, %x) arguments "" fresh : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- given-view.mlir
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tp.empty : tensor<8x8xf32>
  %view = tp.reshape %e : tensor<8x8xf32> -> tensor<64xf32>
  %r = tp.call "my.write.default"(%view, %x) arguments "" fresh : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

//--- given-other.mlir
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tp.empty : tensor<64xf32>
  %y = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %r = tp.call "my.write.default"(%e, %y) arguments "" fresh : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
