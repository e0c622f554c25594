// The order of equal elements: kept, or left to an algorithm.
// RUN: rm -rf %t && split-file %s %t
// RUN: not commute verify %t/open.mlir %t/open-shifted.mlir | FileCheck %s --check-prefix=ORDER
// RUN: not commute verify %t/open.mlir %t/stable.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/open.mlir %t/other-algorithm.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/values.mlir %t/values-stable.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/ordered.mlir %t/unordered.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/ordered-sum.mlir %t/unordered-sum.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/ordered-sum.mlir %t/unordered-sum-of-three.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/float-open.mlir %t/float-stable.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/float-open.mlir %t/float-open.mlir --whole | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/experts-first.mlir %t/experts-any.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/experts-any.mlir %t/experts-any.mlir --whole | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/compared-before.mlir %t/compared-after.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/counted-before.mlir %t/counted-before.mlir --whole | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/two.mlir %t/two-of-four.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/two-chosen.mlir %t/two-of-four-chosen.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/two-chosen.mlir %t/two-unordered-chosen.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/two-chosen.mlir %t/two-of-turned-chosen.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/two-chosen.mlir %t/two-stable-chosen.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/two.mlir %t/two-looked-up.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/two-chosen.mlir %t/two-chosen-by-halves.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/computed-chosen.mlir %t/computed-stable-chosen.mlir | FileCheck %s --check-prefix=COMPUTED
// RUN: commute verify %t/sorted-sum.mlir %t/sum.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/sorted-twice.mlir %t/sorted-once.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/masked.mlir %t/scattered.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/two-times-sorted-sum.mlir %t/two-of-four-times-sum.mlir | FileCheck %s --check-prefix=UNPROVEN
// EQUAL: equivalent
// DIFFERENT: different
// ORDER: not proven: {{.*}}an order that integers determine
// COMPUTED: {{different|where elements of a sorted row are equal, the programs may differ}}
// UNPROVEN: not proven: where elements of a sorted row are equal, the programs may differ: output 0 differs

//--- open.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 algorithm "sort" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- open-shifted.mlir
// The elements compare as before.
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %one = tp.constant 1 : i64 -> tensor<i64>
  %more = tp.map add(%x, %one) : (tensor<40xi64>, tensor<i64>) -> tensor<40xi64>
  %values, %order = tp.sort %more dim 0 algorithm "sort" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- stable.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- other-algorithm.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 algorithm "topk" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- values.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 algorithm "sort" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %values : tensor<40xi64>
}

//--- values-stable.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %values : tensor<40xi64>
}

//--- ordered.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<4xf32> {
  %first, %order = tp.sort %x dim 0 descending algorithm "topk" first 4 : tensor<40xf32> -> tensor<4xf32>, tensor<4xi64>
  return %first : tensor<4xf32>
}

//--- unordered.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<4xf32> {
  %first, %order = tp.sort %x dim 0 descending algorithm "topk" first 4 unordered : tensor<40xf32> -> tensor<4xf32>, tensor<4xi64>
  return %first : tensor<4xf32>
}

//--- ordered-sum.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<f32> {
  %first, %order = tp.sort %x dim 0 descending algorithm "topk" first 4 : tensor<40xf32> -> tensor<4xf32>, tensor<4xi64>
  %sum = tp.reduce sum %first dims [0] : tensor<4xf32> -> tensor<f32>
  return %sum : tensor<f32>
}

//--- unordered-sum.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<f32> {
  %first, %order = tp.sort %x dim 0 descending algorithm "topk" first 4 unordered : tensor<40xf32> -> tensor<4xf32>, tensor<4xi64>
  %sum = tp.reduce sum %first dims [0] : tensor<4xf32> -> tensor<f32>
  return %sum : tensor<f32>
}

//--- unordered-sum-of-three.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<f32> {
  %four, %order = tp.sort %x dim 0 descending algorithm "topk" first 4 unordered : tensor<40xf32> -> tensor<4xf32>, tensor<4xi64>
  %first = tp.slice %four dim 0 start 0 step 1 : tensor<4xf32> -> tensor<3xf32>
  %sum = tp.reduce sum %first dims [0] : tensor<3xf32> -> tensor<f32>
  return %sum : tensor<f32>
}

//--- float-open.mlir
func.func @main(%x: tensor<5x24xbf16>) -> tensor<5x24xi64> {
  %values, %order = tp.sort %x dim 1 algorithm "sort" : tensor<5x24xbf16> -> tensor<5x24xbf16>, tensor<5x24xi64>
  return %order : tensor<5x24xi64>
}

//--- float-stable.mlir
func.func @main(%x: tensor<5x24xbf16>) -> tensor<5x24xi64> {
  %values, %order = tp.sort %x dim 1 : tensor<5x24xbf16> -> tensor<5x24xbf16>, tensor<5x24xi64>
  return %order : tensor<5x24xi64>
}

//--- experts-first.mlir
// Of two experts with one score, the first is chosen.
func.func @main(%x: tensor<6x16xf32>, %w: tensor<16x8xf32>) -> tensor<6x8xi64> {
  %scores = tp.matmul %x, %w : (tensor<6x16xf32>, tensor<16x8xf32>) -> tensor<6x8xf32>
  %values, %order = tp.sort %scores dim 1 descending : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %order : tensor<6x8xi64>
}

//--- experts-any.mlir
func.func @main(%x: tensor<6x16xf32>, %w: tensor<16x8xf32>) -> tensor<6x8xi64> {
  %scores = tp.matmul %x, %w : (tensor<6x16xf32>, tensor<16x8xf32>) -> tensor<6x8xf32>
  %values, %order = tp.sort %scores dim 1 descending algorithm "topk" : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %order : tensor<6x8xi64>
}

//--- compared-before.mlir
func.func @main(%x: tensor<2x8xf64>) -> (tensor<2xi64>, tensor<2x8xi64>) {
  %two = tp.constant 2.0 : f64 -> tensor<f64>
  %above = tp.map greater(%x, %two) : (tensor<2x8xf64>, tensor<f64>) -> tensor<2x8xi1>
  %number = tp.cast %above : tensor<2x8xi1> -> tensor<2x8xi64>
  %count = tp.reduce sum %number dims [1] : tensor<2x8xi64> -> tensor<2xi64>
  %values, %order = tp.sort %x dim 1 : tensor<2x8xf64> -> tensor<2x8xf64>, tensor<2x8xi64>
  return %count, %order : tensor<2xi64>, tensor<2x8xi64>
}

//--- compared-after.mlir
// The count is that of the others, so that equality is met by its law.
func.func @main(%x: tensor<2x8xf64>) -> (tensor<2xi64>, tensor<2x8xi64>) {
  %values, %order = tp.sort %x dim 1 : tensor<2x8xf64> -> tensor<2x8xf64>, tensor<2x8xi64>
  %two = tp.constant 2.0 : f64 -> tensor<f64>
  %all = tp.constant 8 : i64 -> tensor<i64>
  %below = tp.map less_equal(%x, %two) : (tensor<2x8xf64>, tensor<f64>) -> tensor<2x8xi1>
  %number = tp.cast %below : tensor<2x8xi1> -> tensor<2x8xi64>
  %others = tp.reduce sum %number dims [1] : tensor<2x8xi64> -> tensor<2xi64>
  %count = tp.map sub(%all, %others) : (tensor<i64>, tensor<2xi64>) -> tensor<2xi64>
  return %count, %order : tensor<2xi64>, tensor<2x8xi64>
}

//--- counted-before.mlir
// Whether a count is below a number does not depend on the numbers that other
// parts of the program compute with.
func.func @main(%c: tensor<12x3xi64>, %x: tensor<3xf64>) -> (tensor<3xi1>, tensor<3xf64>) {
  %seven = tp.constant 7 : i64 -> tensor<i64>
  %half = tp.constant 0.5 : f64 -> tensor<f64>
  %is = tp.map equal(%c, %seven) : (tensor<12x3xi64>, tensor<i64>) -> tensor<12x3xi1>
  %number = tp.cast %is : tensor<12x3xi1> -> tensor<12x3xf64>
  %count = tp.reduce sum %number dims [0] : tensor<12x3xf64> -> tensor<3xf64>
  %none = tp.map less_equal(%count, %half) : (tensor<3xf64>, tensor<f64>) -> tensor<3xi1>
  %one = tp.constant 1.0 : f64 -> tensor<f64>
  %more = tp.map add(%x, %one) : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
  return %none, %more : tensor<3xi1>, tensor<3xf64>
}

//--- two.mlir
// The values of the largest elements do not depend on how many are asked for.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xf32> {
  %two, %order = tp.sort %x dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %two : tensor<6x2xf32>
}

//--- two-of-four.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xf32> {
  %four, %order = tp.sort %x dim 1 descending algorithm "topk" first 4 : tensor<6x8xf32> -> tensor<6x4xf32>, tensor<6x4xi64>
  %two = tp.slice %four dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %r = tp.copy %two : tensor<6x2xf32, #tp.layout<strides = [4, 1]>> -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

//--- two-looked-up.mlir
// What is chosen is what stands at the index.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xf32> {
  %two, %order = tp.sort %x dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  %r = tp.take_along %x, %order dim 1 : (tensor<6x8xf32>, tensor<6x2xi64>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

//--- two-chosen.mlir
// Which of several equal elements are chosen depends on the whole row and on
// how many there are.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %two, %order = tp.sort %x dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- two-of-four-chosen.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %four, %order = tp.sort %x dim 1 descending algorithm "topk" first 4 : tensor<6x8xf32> -> tensor<6x4xf32>, tensor<6x4xi64>
  %two = tp.slice %order dim 1 start 0 step 1 : tensor<6x4xi64> -> tensor<6x2xi64, #tp.layout<strides = [4, 1]>>
  %r = tp.copy %two : tensor<6x2xi64, #tp.layout<strides = [4, 1]>> -> tensor<6x2xi64>
  return %r : tensor<6x2xi64>
}

//--- two-unordered-chosen.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %two, %order = tp.sort %x dim 1 descending algorithm "topk" first 2 unordered : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- two-stable-chosen.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %two, %order = tp.sort %x dim 1 descending first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- two-of-turned-chosen.mlir
// The halves of each row change places.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %left = tp.slice %x dim 1 start 0 step 1 : tensor<6x8xf32> -> tensor<6x4xf32, #tp.layout<strides = [8, 1]>>
  %right = tp.slice %x dim 1 start 4 step 1 : tensor<6x8xf32> -> tensor<6x4xf32, #tp.layout<strides = [8, 1]>>
  %turned = tp.concat %right, %left dim 1 : (tensor<6x4xf32, #tp.layout<strides = [8, 1]>>, tensor<6x4xf32, #tp.layout<strides = [8, 1]>>) -> tensor<6x8xf32>
  %two, %order = tp.sort %turned dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  %four = tp.constant 4 : i64 -> tensor<i64>
  %eight = tp.constant 8 : i64 -> tensor<i64>
  %back = tp.map add(%order, %four) : (tensor<6x2xi64>, tensor<i64>) -> tensor<6x2xi64>
  %r = tp.map remainder(%back, %eight) : (tensor<6x2xi64>, tensor<i64>) -> tensor<6x2xi64>
  return %r : tensor<6x2xi64>
}

//--- two-chosen-by-halves.mlir
// Whole rows are kept.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %upper = tp.slice %x dim 0 start 0 step 1 : tensor<6x8xf32> -> tensor<3x8xf32>
  %lower = tp.slice %x dim 0 start 3 step 1 : tensor<6x8xf32> -> tensor<3x8xf32>
  %a, %first = tp.sort %upper dim 1 descending algorithm "topk" first 2 : tensor<3x8xf32> -> tensor<3x2xf32>, tensor<3x2xi64>
  %b, %second = tp.sort %lower dim 1 descending algorithm "topk" first 2 : tensor<3x8xf32> -> tensor<3x2xf32>, tensor<3x2xi64>
  %r = tp.concat %first, %second dim 0 : (tensor<3x2xi64>, tensor<3x2xi64>) -> tensor<6x2xi64>
  return %r : tensor<6x2xi64>
}

//--- computed-chosen.mlir
// No input repeats, yet products of small numbers may be equal.
func.func @main(%x: tensor<6x8xf32>, %y: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %p = tp.map mul(%x, %y) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %q = tp.map tanh(%p) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = tp.map add(%q, %y) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %two, %order = tp.sort %s dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- computed-stable-chosen.mlir
func.func @main(%x: tensor<6x8xf32>, %y: tensor<6x8xf32>) -> tensor<6x2xi64> {
  %p = tp.map mul(%x, %y) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %q = tp.map tanh(%p) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %s = tp.map add(%q, %y) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %two, %order = tp.sort %s dim 1 descending first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- sorted-sum.mlir
// A sum does not depend on the order of equal elements, even if their values
// differ.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6xf32> {
  %values, %order = tp.sort %x dim 1 : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  %r = tp.reduce sum %values dims [1] : tensor<6x8xf32> -> tensor<6xf32>
  return %r : tensor<6xf32>
}

//--- sum.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6xf32> {
  %r = tp.reduce sum %x dims [1] : tensor<6x8xf32> -> tensor<6xf32>
  return %r : tensor<6xf32>
}

//--- sorted-twice.mlir
// Equal elements of a sorted row are those of the row.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %once, %order = tp.sort %x dim 1 algorithm "sort" : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  %twice, %unused = tp.sort %once dim 1 algorithm "sort" : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %twice : tensor<6x8xf32>
}

//--- sorted-once.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %once, %order = tp.sort %x dim 1 : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %once : tensor<6x8xf32>
}

//--- masked.mlir
// The weights of a router, by a mask of the chosen experts and by their values.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %two, %order = tp.sort %x dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  %zero = tp.constant 0.0 : f32 -> tensor<6x8xf32>
  %one = tp.constant 1.0 : f32 -> tensor<6x2xf32>
  %mask = tp.scatter %zero, %order, %one dim 1 : (tensor<6x8xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %r = tp.map mul(%mask, %x) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

//--- scattered.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %two, %order = tp.sort %x dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  %zero = tp.constant 0.0 : f32 -> tensor<6x8xf32>
  %r = tp.scatter %zero, %order, %two dim 1 : (tensor<6x8xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

//--- two-times-sorted-sum.mlir
// Equal by two laws, each of which holds in another model of equal elements.
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xf32> {
  %values, %order = tp.sort %x dim 1 : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  %sum = tp.reduce sum %values dims [1] keep_dims : tensor<6x8xf32> -> tensor<6x1xf32>
  %two, %chosen = tp.sort %x dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  %r = tp.map mul(%two, %sum) : (tensor<6x2xf32>, tensor<6x1xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}

//--- two-of-four-times-sum.mlir
func.func @main(%x: tensor<6x8xf32>) -> tensor<6x2xf32> {
  %sum = tp.reduce sum %x dims [1] keep_dims : tensor<6x8xf32> -> tensor<6x1xf32>
  %four, %chosen = tp.sort %x dim 1 descending algorithm "topk" first 4 : tensor<6x8xf32> -> tensor<6x4xf32>, tensor<6x4xi64>
  %two = tp.slice %four dim 1 start 0 step 1 : tensor<6x4xf32> -> tensor<6x2xf32, #tp.layout<strides = [4, 1]>>
  %r = tp.map mul(%two, %sum) : (tensor<6x2xf32, #tp.layout<strides = [4, 1]>>, tensor<6x1xf32>) -> tensor<6x2xf32>
  return %r : tensor<6x2xf32>
}
