// Sorting, gather and scatter in proofs: what commutes with them, and what does
// not.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute verify %t/chosen.mlir %t/chosen-scaled-before.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/chosen.mlir %t/chosen-one-less.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/chosen.mlir %t/chosen-smallest.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/added.mlir %t/added-in-halves.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/added.mlir %t/replaced.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/added.mlir %t/added-shifted.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/one-hot.mlir %t/one-hot-moved.mlir | FileCheck %s --check-prefix=DIFFERENT
// EQUAL: equivalent
// DIFFERENT: different

//--- chosen.mlir
// Values chosen by another tensor's order, scaled after.
func.func @main(%scores: tensor<512x64xf32>, %x: tensor<512x64xf32>) -> tensor<512x4xf32> {
  %values, %order = tp.sort %scores dim 1 descending : tensor<512x64xf32> -> tensor<512x64xf32>, tensor<512x64xi64>
  %first = tp.slice %order dim 1 start 0 step 1 : tensor<512x64xi64> -> tensor<512x4xi64, #tp.layout<strides = [64, 1]>>
  %chosen = tp.take_along %x, %first dim 1 : (tensor<512x64xf32>, tensor<512x4xi64, #tp.layout<strides = [64, 1]>>) -> tensor<512x4xf32>
  %factor = tp.constant 3.0 : f64 -> tensor<f64>
  %r = tp.map mul(%chosen, %factor) : (tensor<512x4xf32>, tensor<f64>) -> tensor<512x4xf32>
  return %r : tensor<512x4xf32>
}

//--- chosen-scaled-before.mlir
func.func @main(%scores: tensor<512x64xf32>, %x: tensor<512x64xf32>) -> tensor<512x4xf32> {
  %values, %order = tp.sort %scores dim 1 descending : tensor<512x64xf32> -> tensor<512x64xf32>, tensor<512x64xi64>
  %first = tp.slice %order dim 1 start 0 step 1 : tensor<512x64xi64> -> tensor<512x4xi64, #tp.layout<strides = [64, 1]>>
  %factor = tp.constant 3.0 : f64 -> tensor<f64>
  %scaled = tp.map mul(%x, %factor) : (tensor<512x64xf32>, tensor<f64>) -> tensor<512x64xf32>
  %r = tp.take_along %scaled, %first dim 1 : (tensor<512x64xf32>, tensor<512x4xi64, #tp.layout<strides = [64, 1]>>) -> tensor<512x4xf32>
  return %r : tensor<512x4xf32>
}

//--- chosen-one-less.mlir
func.func @main(%scores: tensor<512x64xf32>, %x: tensor<512x64xf32>) -> tensor<512x4xf32> {
  %values, %order = tp.sort %scores dim 1 descending : tensor<512x64xf32> -> tensor<512x64xf32>, tensor<512x64xi64>
  %first = tp.slice %order dim 1 start 1 step 1 : tensor<512x64xi64> -> tensor<512x4xi64, #tp.layout<strides = [64, 1]>>
  %chosen = tp.take_along %x, %first dim 1 : (tensor<512x64xf32>, tensor<512x4xi64, #tp.layout<strides = [64, 1]>>) -> tensor<512x4xf32>
  %factor = tp.constant 3.0 : f64 -> tensor<f64>
  %r = tp.map mul(%chosen, %factor) : (tensor<512x4xf32>, tensor<f64>) -> tensor<512x4xf32>
  return %r : tensor<512x4xf32>
}

//--- chosen-smallest.mlir
func.func @main(%scores: tensor<512x64xf32>, %x: tensor<512x64xf32>) -> tensor<512x4xf32> {
  %values, %order = tp.sort %scores dim 1 : tensor<512x64xf32> -> tensor<512x64xf32>, tensor<512x64xi64>
  %first = tp.slice %order dim 1 start 0 step 1 : tensor<512x64xi64> -> tensor<512x4xi64, #tp.layout<strides = [64, 1]>>
  %chosen = tp.take_along %x, %first dim 1 : (tensor<512x64xf32>, tensor<512x4xi64, #tp.layout<strides = [64, 1]>>) -> tensor<512x4xf32>
  %factor = tp.constant 3.0 : f64 -> tensor<f64>
  %r = tp.map mul(%chosen, %factor) : (tensor<512x4xf32>, tensor<f64>) -> tensor<512x4xf32>
  return %r : tensor<512x4xf32>
}

//--- added.mlir
// The gradient of an embedding.
func.func @main(%index: tensor<300xi64>, %x: tensor<300x128xf32>) -> tensor<1000x128xf32> {
  %zeros = tp.constant 0.0 : f64 -> tensor<1000x128xf32>
  %column = tp.reshape %index : tensor<300xi64> -> tensor<300x1xi64>
  %all = tp.broadcast %column : tensor<300x1xi64> -> tensor<300x128xi64, #tp.layout<strides = [1, 0]>>
  %r = tp.scatter %zeros, %all, %x dim 0 accumulate : (tensor<1000x128xf32>, tensor<300x128xi64, #tp.layout<strides = [1, 0]>>, tensor<300x128xf32>) -> tensor<1000x128xf32>
  return %r : tensor<1000x128xf32>
}

//--- added-in-halves.mlir
func.func @main(%index: tensor<300xi64>, %x: tensor<300x128xf32>) -> tensor<1000x128xf32> {
  %zeros = tp.constant 0.0 : f64 -> tensor<1000x128xf32>
  %column = tp.reshape %index : tensor<300xi64> -> tensor<300x1xi64>
  %all = tp.broadcast %column : tensor<300x1xi64> -> tensor<300x128xi64, #tp.layout<strides = [1, 0]>>
  %i0 = tp.slice %all dim 0 start 0 step 1 : tensor<300x128xi64, #tp.layout<strides = [1, 0]>> -> tensor<100x128xi64, #tp.layout<strides = [1, 0]>>
  %i1 = tp.slice %all dim 0 start 100 step 1 : tensor<300x128xi64, #tp.layout<strides = [1, 0]>> -> tensor<200x128xi64, #tp.layout<strides = [1, 0]>>
  %x0 = tp.slice %x dim 0 start 0 step 1 : tensor<300x128xf32> -> tensor<100x128xf32>
  %x1 = tp.slice %x dim 0 start 100 step 1 : tensor<300x128xf32> -> tensor<200x128xf32>
  %first = tp.scatter %zeros, %i1, %x1 dim 0 accumulate : (tensor<1000x128xf32>, tensor<200x128xi64, #tp.layout<strides = [1, 0]>>, tensor<200x128xf32>) -> tensor<1000x128xf32>
  %r = tp.scatter %first, %i0, %x0 dim 0 accumulate : (tensor<1000x128xf32>, tensor<100x128xi64, #tp.layout<strides = [1, 0]>>, tensor<100x128xf32>) -> tensor<1000x128xf32>
  return %r : tensor<1000x128xf32>
}

//--- replaced.mlir
func.func @main(%index: tensor<300xi64>, %x: tensor<300x128xf32>) -> tensor<1000x128xf32> {
  %zeros = tp.constant 0.0 : f64 -> tensor<1000x128xf32>
  %column = tp.reshape %index : tensor<300xi64> -> tensor<300x1xi64>
  %all = tp.broadcast %column : tensor<300x1xi64> -> tensor<300x128xi64, #tp.layout<strides = [1, 0]>>
  %r = tp.scatter %zeros, %all, %x dim 0 : (tensor<1000x128xf32>, tensor<300x128xi64, #tp.layout<strides = [1, 0]>>, tensor<300x128xf32>) -> tensor<1000x128xf32>
  return %r : tensor<1000x128xf32>
}

//--- added-shifted.mlir
func.func @main(%index: tensor<300xi64>, %x: tensor<300x128xf32>) -> tensor<1000x128xf32> {
  %zeros = tp.constant 0.0 : f64 -> tensor<1000x128xf32>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %size = tp.constant 1000 : i64 -> tensor<i64>
  %next = tp.map add(%index, %one) : (tensor<300xi64>, tensor<i64>) -> tensor<300xi64>
  %wrapped = tp.map remainder(%next, %size) : (tensor<300xi64>, tensor<i64>) -> tensor<300xi64>
  %column = tp.reshape %wrapped : tensor<300xi64> -> tensor<300x1xi64>
  %all = tp.broadcast %column : tensor<300x1xi64> -> tensor<300x128xi64, #tp.layout<strides = [1, 0]>>
  %r = tp.scatter %zeros, %all, %x dim 0 accumulate : (tensor<1000x128xf32>, tensor<300x128xi64, #tp.layout<strides = [1, 0]>>, tensor<300x128xf32>) -> tensor<1000x128xf32>
  return %r : tensor<1000x128xf32>
}

//--- one-hot.mlir
// A target that indexes a table also meets the columns that are told apart.
func.func @main(%x: tensor<12x96xf32>, %target: tensor<12x1xi64>) -> (tensor<12x1xf32>, tensor<12x96xi1>) {
  %loss = tp.take_along %x, %target dim 1 : (tensor<12x96xf32>, tensor<12x1xi64>) -> tensor<12x1xf32>
  %classes = tp.iota 0 : i64 step 1 : i64 -> tensor<96xi64>
  %hot = tp.map equal(%target, %classes) : (tensor<12x1xi64>, tensor<96xi64>) -> tensor<12x96xi1>
  return %loss, %hot : tensor<12x1xf32>, tensor<12x96xi1>
}

//--- one-hot-moved.mlir
// Column 37 is column 36.
func.func @main(%x: tensor<12x96xf32>, %target: tensor<12x1xi64>) -> (tensor<12x1xf32>, tensor<12x96xi1>) {
  %loss = tp.take_along %x, %target dim 1 : (tensor<12x96xf32>, tensor<12x1xi64>) -> tensor<12x1xf32>
  %classes = tp.iota 0 : i64 step 1 : i64 -> tensor<96xi64>
  %hot = tp.map equal(%target, %classes) : (tensor<12x1xi64>, tensor<96xi64>) -> tensor<12x96xi1>
  %before = tp.slice %hot dim 1 start 0 step 1 : tensor<12x96xi1> -> tensor<12x37xi1, #tp.layout<strides = [96, 1]>>
  %moved = tp.slice %hot dim 1 start 36 step 1 : tensor<12x96xi1> -> tensor<12x1xi1, #tp.layout<strides = [96, 1]>>
  %after = tp.slice %hot dim 1 start 38 step 1 : tensor<12x96xi1> -> tensor<12x58xi1, #tp.layout<strides = [96, 1]>>
  %other = tp.concat %before, %moved, %after dim 1 : (tensor<12x37xi1, #tp.layout<strides = [96, 1]>>, tensor<12x1xi1, #tp.layout<strides = [96, 1]>>, tensor<12x58xi1, #tp.layout<strides = [96, 1]>>) -> tensor<12x96xi1>
  return %loss, %other : tensor<12x1xf32>, tensor<12x96xi1>
}
