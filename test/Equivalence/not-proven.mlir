// Programs that are equal by a law of truth values are not told from those that an
// outcome that was not drawn tells apart: neither is proven.
// RUN: rm -rf %t && split-file %s %t
// RUN: not commute verify %t/any.mlir %t/count.mlir | FileCheck %s
// RUN: commute verify %t/any.mlir %t/count.mlir; test $? = 4
// One element of 40 is left out, which one outcome in 2^39 shows.
// RUN: not commute verify %t/all.mlir %t/almost-all.mlir
// RUN: commute verify %t/all.mlir %t/all.mlir --whole
// That holds beside outputs that are equal by another law, which random outcomes do
// not know, but not beside a difference.
// RUN: commute verify %t/both.mlir %t/both-counted.mlir; test $? = 4
// RUN: commute verify %t/both.mlir %t/both-wrong.mlir; test $? = 1

// CHECK: not proven: the programs are equal for {{[0-9]+}} random outcomes of their comparisons

//--- any.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> tensor<5xi1> {
  %z = tp.constant 0.5 : f64 -> tensor<f32>
  %c = tp.map greater(%x, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %0 = tp.reduce max %c dims [1] : tensor<5x3xi1> -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

//--- count.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> tensor<5xi1> {
  %z = tp.constant 0.5 : f64 -> tensor<f32>
  %c = tp.map greater(%x, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %i = tp.cast %c : tensor<5x3xi1> -> tensor<5x3xi64>
  %s = tp.reduce sum %i dims [1] : tensor<5x3xi64> -> tensor<5xi64>
  %n = tp.constant 1 : i64 -> tensor<i64>
  %0 = tp.map greater_equal(%s, %n) : (tensor<5xi64>, tensor<i64>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

//--- all.mlir
func.func @main(%x: tensor<40xf32> {tp.name = "x"}) -> tensor<i1> {
  %z = tp.constant 0.5 : f64 -> tensor<f32>
  %c = tp.map greater(%x, %z) : (tensor<40xf32>, tensor<f32>) -> tensor<40xi1>
  %0 = tp.reduce min %c dims [0] : tensor<40xi1> -> tensor<i1>
  return %0 : tensor<i1>
}

//--- almost-all.mlir
func.func @main(%x: tensor<40xf32> {tp.name = "x"}) -> tensor<i1> {
  %z = tp.constant 0.5 : f64 -> tensor<f32>
  %y = tp.slice %x dim 0 start 1 step 1 : tensor<40xf32> -> tensor<39xf32>
  %c = tp.map greater(%y, %z) : (tensor<39xf32>, tensor<f32>) -> tensor<39xi1>
  %0 = tp.reduce min %c dims [0] : tensor<39xi1> -> tensor<i1>
  return %0 : tensor<i1>
}

//--- both.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> (tensor<5xi1>, tensor<5x3xf32>) {
  %h = tp.constant 0.5 : f64 -> tensor<f32>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %two = tp.constant 2.0 : f64 -> tensor<f32>
  %t = tp.map tanh(%x) : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %m = tp.map minimum(%t, %x) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %c = tp.map greater(%x, %h) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %n = tp.map less(%m, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %a = tp.map select(%n, %z, %m) : (tensor<5x3xi1>, tensor<f32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %g = tp.map greater(%a, %two) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %1 = tp.map select(%g, %two, %a) : (tensor<5x3xi1>, tensor<f32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %0 = tp.reduce max %c dims [1] : tensor<5x3xi1> -> tensor<5xi1>
  return %0, %1 : tensor<5xi1>, tensor<5x3xf32>
}

//--- both-counted.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> (tensor<5xi1>, tensor<5x3xf32>) {
  %h = tp.constant 0.5 : f64 -> tensor<f32>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %two = tp.constant 2.0 : f64 -> tensor<f32>
  %t = tp.map tanh(%x) : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %m = tp.map minimum(%t, %x) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %c = tp.map greater(%x, %h) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %a = tp.map maximum(%m, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  %1 = tp.map minimum(%a, %two) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  %i = tp.cast %c : tensor<5x3xi1> -> tensor<5x3xi64>
  %s = tp.reduce sum %i dims [1] : tensor<5x3xi64> -> tensor<5xi64>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %0 = tp.map greater_equal(%s, %one) : (tensor<5xi64>, tensor<i64>) -> tensor<5xi1>
  return %0, %1 : tensor<5xi1>, tensor<5x3xf32>
}

//--- both-wrong.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> (tensor<5xi1>, tensor<5x3xf32>) {
  %h = tp.constant 0.5 : f64 -> tensor<f32>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %two = tp.constant 2.0 : f64 -> tensor<f32>
  %t = tp.map tanh(%x) : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %m = tp.map minimum(%t, %x) : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
  %c = tp.map greater(%x, %h) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %a = tp.map maximum(%m, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  %1 = tp.map minimum(%a, %h) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xf32>
  %i = tp.cast %c : tensor<5x3xi1> -> tensor<5x3xi64>
  %s = tp.reduce sum %i dims [1] : tensor<5x3xi64> -> tensor<5xi64>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %0 = tp.map greater_equal(%s, %one) : (tensor<5xi64>, tensor<i64>) -> tensor<5xi1>
  return %0, %1 : tensor<5xi1>, tensor<5x3xf32>
}
