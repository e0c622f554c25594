// Truth values that differ between many ranks: what is proven for all of them, or by the
// structure of the programs, does not rest on which flags were drawn.
// RUN: sed 's/RANKS/0, 1, 2, 3, 4, 5, 6, 7, 8/g' %s > %t.many.mlir
// RUN: commute verify %t.many.mlir %t.many.mlir | FileCheck %s --implicit-check-not='truth values of an input'
// RUN: commute verify %t.many.mlir %t.many.mlir --whole | FileCheck %s --implicit-check-not='truth values of an input'
// RUN: sed 's/RANKS/0, 1/g' %s > %t.few.mlir
// RUN: commute verify %t.few.mlir %t.few.mlir --whole | FileCheck %s --implicit-check-not='truth values of an input'
// RUN: sed 's/varying/replicated/' %t.many.mlir > %t.same.mlir
// RUN: commute verify %t.same.mlir %t.same.mlir --whole | FileCheck %s --implicit-check-not='truth values of an input'

// CHECK: equivalent on

module attributes {tp.groups = [#tp.group<"tp", [RANKS]>]} {
  // Inputs that are not tensors have no flags.
  func.func @main(%flag: tensor<i1> {tp.placements = {tp = #tp.placement<varying>}}, %size: i64) -> tensor<i64> {
    %0 = tp.cast %flag : tensor<i1> -> tensor<i64>
    %1 = tp.all_reduce max %0 group <"tp", [RANKS]> : tensor<i64> -> tensor<i64>
    return %1 : tensor<i64>
  }
}
