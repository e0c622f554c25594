// One element of many decides an extreme or a count only if the others let it: draws
// in which it alone is unlike them show a program that leaves it out.
// RUN: rm -rf %t && split-file %s %t
// RUN: not commute verify %t/largest.mlir %t/largest-but-first.mlir
// RUN: not commute verify %t/smallest.mlir %t/smallest-but-last.mlir
// RUN: not commute verify %t/any.mlir %t/any-but-one.mlir
// RUN: not commute verify %t/count.mlir %t/count-but-one.mlir
// RUN: not commute verify %t/rows.mlir %t/rows-but-one.mlir
// What is written in another way, and leaves nothing out, is proven.
// RUN: commute verify %t/largest.mlir %t/largest-in-halves.mlir
// That a count is above zero is no law of truth values.
// RUN: commute verify %t/any.mlir %t/any-by-count.mlir; test $? = 4
// RUN: commute verify %t/count.mlir %t/count-of-others.mlir

//--- largest.mlir
func.func @main(%ids: tensor<300xi64> {tp.name = "ids"}) -> tensor<i64> {
  %0 = tp.reduce max %ids dims [0] : tensor<300xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- largest-but-first.mlir
func.func @main(%ids: tensor<300xi64> {tp.name = "ids"}) -> tensor<i64> {
  %1 = tp.slice %ids dim 0 start 1 step 1 : tensor<300xi64> -> tensor<299xi64>
  %0 = tp.reduce max %1 dims [0] : tensor<299xi64> -> tensor<i64>
  return %0 : tensor<i64>
}

//--- largest-in-halves.mlir
func.func @main(%ids: tensor<300xi64> {tp.name = "ids"}) -> tensor<i64> {
  %1 = tp.slice %ids dim 0 start 0 step 1 : tensor<300xi64> -> tensor<150xi64>
  %2 = tp.slice %ids dim 0 start 150 step 1 : tensor<300xi64> -> tensor<150xi64>
  %3 = tp.reduce max %1 dims [0] : tensor<150xi64> -> tensor<i64>
  %4 = tp.reduce max %2 dims [0] : tensor<150xi64> -> tensor<i64>
  %0 = tp.map maximum(%4, %3) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  return %0 : tensor<i64>
}

//--- smallest.mlir
func.func @main(%ids: tensor<300xi32> {tp.name = "ids"}) -> tensor<i32> {
  %0 = tp.reduce min %ids dims [0] : tensor<300xi32> -> tensor<i32>
  return %0 : tensor<i32>
}

//--- smallest-but-last.mlir
func.func @main(%ids: tensor<300xi32> {tp.name = "ids"}) -> tensor<i32> {
  %1 = tp.slice %ids dim 0 start 0 step 1 : tensor<300xi32> -> tensor<299xi32>
  %0 = tp.reduce min %1 dims [0] : tensor<299xi32> -> tensor<i32>
  return %0 : tensor<i32>
}

//--- any.mlir
func.func @main(%ids: tensor<200xi64> {tp.name = "ids"}) -> tensor<i1> {
  %n = tp.constant 7 : i64 -> tensor<i64>
  %c = tp.map equal(%ids, %n) : (tensor<200xi64>, tensor<i64>) -> tensor<200xi1>
  %0 = tp.reduce max %c dims [0] : tensor<200xi1> -> tensor<i1>
  return %0 : tensor<i1>
}

//--- any-but-one.mlir
func.func @main(%ids: tensor<200xi64> {tp.name = "ids"}) -> tensor<i1> {
  %n = tp.constant 7 : i64 -> tensor<i64>
  %1 = tp.slice %ids dim 0 start 0 step 1 : tensor<200xi64> -> tensor<120xi64>
  %2 = tp.slice %ids dim 0 start 121 step 1 : tensor<200xi64> -> tensor<79xi64>
  %3 = tp.concat %1, %2 dim 0 : (tensor<120xi64>, tensor<79xi64>) -> tensor<199xi64>
  %c = tp.map equal(%3, %n) : (tensor<199xi64>, tensor<i64>) -> tensor<199xi1>
  %0 = tp.reduce max %c dims [0] : tensor<199xi1> -> tensor<i1>
  return %0 : tensor<i1>
}

//--- any-by-count.mlir
func.func @main(%ids: tensor<200xi64> {tp.name = "ids"}) -> tensor<i1> {
  %n = tp.constant 7 : i64 -> tensor<i64>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %c = tp.map equal(%ids, %n) : (tensor<200xi64>, tensor<i64>) -> tensor<200xi1>
  %i = tp.cast %c : tensor<200xi1> -> tensor<200xi64>
  %s = tp.reduce sum %i dims [0] : tensor<200xi64> -> tensor<i64>
  %0 = tp.map greater_equal(%s, %one) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}

//--- count.mlir
func.func @main(%ids: tensor<200xi64> {tp.name = "ids"}) -> tensor<i1> {
  %n = tp.constant 40 : i64 -> tensor<i64>
  %limit = tp.constant 3 : i64 -> tensor<i64>
  %c = tp.map less(%ids, %n) : (tensor<200xi64>, tensor<i64>) -> tensor<200xi1>
  %i = tp.cast %c : tensor<200xi1> -> tensor<200xi64>
  %s = tp.reduce sum %i dims [0] : tensor<200xi64> -> tensor<i64>
  %0 = tp.map less(%s, %limit) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}

//--- count-but-one.mlir
func.func @main(%ids: tensor<200xi64> {tp.name = "ids"}) -> tensor<i1> {
  %n = tp.constant 40 : i64 -> tensor<i64>
  %limit = tp.constant 3 : i64 -> tensor<i64>
  %1 = tp.slice %ids dim 0 start 1 step 1 : tensor<200xi64> -> tensor<199xi64>
  %c = tp.map less(%1, %n) : (tensor<199xi64>, tensor<i64>) -> tensor<199xi1>
  %i = tp.cast %c : tensor<199xi1> -> tensor<199xi64>
  %s = tp.reduce sum %i dims [0] : tensor<199xi64> -> tensor<i64>
  %0 = tp.map less(%s, %limit) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}

//--- count-of-others.mlir
func.func @main(%ids: tensor<200xi64> {tp.name = "ids"}) -> tensor<i1> {
  %n = tp.constant 40 : i64 -> tensor<i64>
  %limit = tp.constant 197 : i64 -> tensor<i64>
  %c = tp.map greater_equal(%ids, %n) : (tensor<200xi64>, tensor<i64>) -> tensor<200xi1>
  %i = tp.cast %c : tensor<200xi1> -> tensor<200xi64>
  %s = tp.reduce sum %i dims [0] : tensor<200xi64> -> tensor<i64>
  %0 = tp.map greater(%s, %limit) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}

//--- rows.mlir
func.func @main(%ids: tensor<4x100xi64> {tp.name = "ids"}) -> tensor<4xi64> {
  %0 = tp.reduce max %ids dims [1] : tensor<4x100xi64> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

//--- rows-but-one.mlir
func.func @main(%ids: tensor<4x100xi64> {tp.name = "ids"}) -> tensor<4xi64> {
  %1 = tp.slice %ids dim 1 start 1 step 1 : tensor<4x100xi64> -> tensor<4x99xi64>
  %0 = tp.reduce max %1 dims [1] : tensor<4x99xi64> -> tensor<4xi64>
  return %0 : tensor<4xi64>
}
