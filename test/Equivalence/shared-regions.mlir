// What follows from the order of unknown values, and is the same in both
// programs, is taken for an unknown function: no order is drawn.
// RUN: split-file %s %t
// RUN: commute verify %t/program.mlir %t/other-end.mlir --strict | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/program.mlir %t/other-operand.mlir | FileCheck %s --check-prefix=OTHER
// RUN: not commute verify %t/program.mlir %t/other-routing.mlir | FileCheck %s --check-prefix=OTHER
// The regions are evaluated if that is needed.
// RUN: commute verify %t/program.mlir %t/by-rows.mlir | FileCheck %s --check-prefix=DRAWN

// EQUAL: equivalent on 1 rank{{$}}
// OTHER: different: output 0 differs
// DRAWN: equivalent on 1 rank

//--- program.mlir
func.func @main(%x: tensor<64x16xf32>, %key: tensor<64xf32>) -> tensor<64x16xf32> {
  %v, %order = tp.sort %key dim 0 : tensor<64xf32> -> tensor<64xf32>, tensor<64xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<64x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  %a = tp.map exp(%rows) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %two = tp.constant 2.0 : f64 -> tensor<f64>
  %b = tp.map mul(%a, %two) : (tensor<64x16xf32>, tensor<f64>) -> tensor<64x16xf32>
  return %b : tensor<64x16xf32>
}

//--- other-end.mlir
func.func @main(%x: tensor<64x16xf32>, %key: tensor<64xf32>) -> tensor<64x16xf32> {
  %v, %order = tp.sort %key dim 0 : tensor<64xf32> -> tensor<64xf32>, tensor<64xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<64x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  %a = tp.map exp(%rows) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %b = tp.map add(%a, %a) : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %b : tensor<64x16xf32>
}

//--- other-operand.mlir
func.func @main(%x: tensor<64x16xf32>, %key: tensor<64xf32>) -> tensor<64x16xf32> {
  %other = tp.map exp(%key) : (tensor<64xf32>) -> tensor<64xf32>
  %c = tp.map sin(%other) : (tensor<64xf32>) -> tensor<64xf32>
  %v, %order = tp.sort %c dim 0 : tensor<64xf32> -> tensor<64xf32>, tensor<64xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<64x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  %a = tp.map exp(%rows) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %b = tp.map add(%a, %a) : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %b : tensor<64x16xf32>
}

//--- other-routing.mlir
func.func @main(%x: tensor<64x16xf32>, %key: tensor<64xf32>) -> tensor<64x16xf32> {
  %v, %order = tp.sort %key dim 0 descending : tensor<64xf32> -> tensor<64xf32>, tensor<64xi64>
  %rows = tp.take %x, %order dim 0 : (tensor<64x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  %a = tp.map exp(%rows) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %b = tp.map add(%a, %a) : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %b : tensor<64x16xf32>
}

//--- by-rows.mlir
func.func @main(%x: tensor<64x16xf32>, %key: tensor<64xf32>) -> tensor<64x16xf32> {
  %v, %order = tp.sort %key dim 0 : tensor<64xf32> -> tensor<64xf32>, tensor<64xi64>
  %e = tp.map exp(%x) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %a = tp.take %e, %order dim 0 : (tensor<64x16xf32>, tensor<64xi64>) -> tensor<64x16xf32>
  %b = tp.map add(%a, %a) : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %b : tensor<64x16xf32>
}
