// --show-sizes: how many indices of each size were evaluated, and why.
// RUN: split-file %s %t
// RUN: commute verify %t/a.mlir %t/b.mlir --whole --show-sizes | FileCheck %s
// RUN: commute verify %t/a.mlir %t/b.mlir --whole --show-sizes --real-sizes | FileCheck %s --check-prefix=REAL
// RUN: commute verify %t/a.mlir %t/b.mlir --whole --show-sizes --json | FileCheck %s --check-prefix=JSON

// CHECK: equivalent on 1 rank
// CHECK: sizes, evaluated indices, and why these suffice:
// CHECK-DAG: {{^ +4096 +[0-9][0-9]?  ops treat the indices between two cuts alike: dim 0 of x}}
// CHECK-DAG: {{^ +3 +3  small: dim 1 of x}}
// CHECK-DAG: {{^ +24 +24  its positions are computed with: dim 0 of p}}

// REAL: {{^ +4096 +4096 .*: dim 0 of x}}

// JSON: "extents"

//--- a.mlir
func.func @main(%x: tensor<4096x3xf32> {tp.name = "x"} loc("x"), %p: tensor<24xf32> {tp.name = "p"} loc("p")) -> (tensor<4096x3xf32>, tensor<24xf32>) {
  %0 = tp.map neg(%x) : (tensor<4096x3xf32>) -> tensor<4096x3xf32>
  %1 = tp.map neg(%0) : (tensor<4096x3xf32>) -> tensor<4096x3xf32>
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<24xi64>
  %j = tp.map mul(%i, %i) : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  %2 = tp.map mul(%p, %j) : (tensor<24xf32>, tensor<24xi64>) -> tensor<24xf32>
  return %1, %2 : tensor<4096x3xf32>, tensor<24xf32>
}

//--- b.mlir
func.func @main(%x: tensor<4096x3xf32> {tp.name = "x"} loc("x"), %p: tensor<24xf32> {tp.name = "p"} loc("p")) -> (tensor<4096x3xf32>, tensor<24xf32>) {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<24xi64>
  %j = tp.map mul(%i, %i) : (tensor<24xi64>, tensor<24xi64>) -> tensor<24xi64>
  %2 = tp.map mul(%j, %p) : (tensor<24xi64>, tensor<24xf32>) -> tensor<24xf32>
  return %x, %2 : tensor<4096x3xf32>, tensor<24xf32>
}
