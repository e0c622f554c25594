// Opaque ops: the same ones, in the same order, on the same values; what they
// write to is another value from then on.
// RUN: split-file %s %t
// RUN: commute verify %t/captured.mlir %t/captured.mlir | FileCheck %s --check-prefix=SAME
// RUN: not commute verify %t/captured.mlir %t/other-arguments.mlir | FileCheck %s --check-prefix=ORDER
// RUN: not commute verify %t/captured.mlir %t/reordered.mlir | FileCheck %s --check-prefix=ORDER
// RUN: not commute verify %t/captured.mlir %t/missing.mlir | FileCheck %s --check-prefix=MISSING
// RUN: not commute verify %t/captured.mlir %t/other-operand.mlir | FileCheck %s --check-prefix=OPERAND
// RUN: not commute verify %t/captured.mlir %t/read-after-write.mlir | FileCheck %s --check-prefix=WRITE
// RUN: commute verify %t/view-before.mlir %t/view-after.mlir | FileCheck %s --check-prefix=SAME
// RUN: not commute verify %t/copy-before.mlir %t/copy-after.mlir | FileCheck %s --check-prefix=WRITE

// SAME: equivalent on 1 rank
// ORDER: different: opaque ops are not the same ones in the same order
// MISSING: different: the programs have 2 and 1 opaque ops
// Its result is not used, but it may print it.
// OPERAND: different: opaque op 'lib.print' reads another operand 0 on rank 0
// WRITE: different: output 0 differs on rank 0 at index [0, 0]

//--- captured.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tp.call "lib.print"(%0) arguments "[%0]" : (tensor<4x6xf32>) -> ()
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  return %0 : tensor<4x6xf32>
}

//--- other-arguments.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tp.call "lib.print"(%0) arguments "[%0, 1]" : (tensor<4x6xf32>) -> ()
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  return %0 : tensor<4x6xf32>
}

//--- reordered.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  tp.call "lib.print"(%0) arguments "[%0]" : (tensor<4x6xf32>) -> ()
  return %0 : tensor<4x6xf32>
}

//--- missing.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tp.call "lib.print"(%0) arguments "[%0]" : (tensor<4x6xf32>) -> ()
  return %0 : tensor<4x6xf32>
}

//--- other-operand.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tp.call "lib.print"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> ()
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  return %0 : tensor<4x6xf32>
}

//--- read-after-write.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tp.call "lib.print"(%0) arguments "[%0]" : (tensor<4x6xf32>) -> ()
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  %1 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

//--- view-before.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<2x6xf32> {
  %0 = tp.slice %x dim 0 start 1 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  return %0 : tensor<2x6xf32>
}

//--- view-after.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<2x6xf32> {
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  %0 = tp.slice %x dim 0 start 1 step 1 : tensor<4x6xf32> -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

//--- copy-before.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.copy %x : tensor<4x6xf32> -> tensor<4x6xf32>
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  return %0 : tensor<4x6xf32>
}

//--- copy-after.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  %0 = tp.copy %x : tensor<4x6xf32> -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}
