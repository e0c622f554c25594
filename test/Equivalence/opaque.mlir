// Opaque ops: the same ones, in the same order, on the same values; what they
// write to is another value from then on. A difference that rests on one of them
// proves nothing, because nobody knows what it does.
// RUN: split-file %s %t
// RUN: commute verify %t/captured.mlir %t/captured.mlir | FileCheck %s --check-prefix=SAME
// RUN: not commute verify %t/captured.mlir %t/other-arguments.mlir | FileCheck %s --check-prefix=PRINT
// RUN: not commute verify %t/captured.mlir %t/reordered.mlir | FileCheck %s --check-prefix=FILL
// RUN: not commute verify %t/captured.mlir %t/missing.mlir | FileCheck %s --check-prefix=FILL
// RUN: not commute verify %t/captured.mlir %t/other-operand.mlir | FileCheck %s --check-prefix=PRINT
// RUN: not commute verify %t/captured.mlir %t/read-after-write.mlir | FileCheck %s --check-prefix=FILL
// RUN: commute verify %t/view-before.mlir %t/view-after.mlir | FileCheck %s --check-prefix=SAME
// RUN: not commute verify %t/copy-before.mlir %t/copy-after.mlir | FileCheck %s --check-prefix=FILL
// A difference beside it is one.
// RUN: not commute verify %t/captured.mlir %t/other-value.mlir | FileCheck %s --check-prefix=VALUE

// SAME: equivalent on 1 rank
// Its result is not used, but it may print it.
// PRINT: not proven: lib.print ({{.*}}.mlir:3) has no description; if its results depend on its operands alone, add {"lib.print": {"effects": "none"}} to a vocabulary file
// FILL: not proven: lib.fill ({{.*}}.mlir:{{[0-9]}}) has no description
// VALUE: different: {{.*}}output 0 differs on rank 0 at index [0, 0]

//--- other-value.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %0 = tp.map neg(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = tp.map relu(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  tp.call "lib.print"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> ()
  tp.call "lib.fill"(%x) arguments "[%0]" mutates [0] : (tensor<4x6xf32>) -> ()
  return %1 : tensor<4x6xf32>
}

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
