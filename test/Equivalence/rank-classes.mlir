// Members of a group over which both programs only reduce are alike: few of them
// are evaluated, also of many ranks. A group that is gathered, sliced by rank, or
// scattered over keeps all its members.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t
// RUN: commute verify %t/both.mlir %t/both.equal.mlir --json | FileCheck %s --check-prefix=BOTH
// RUN: commute verify %t/sum.mlir %t/sum.equal.mlir --json | FileCheck %s --check-prefix=ALL
// RUN: commute verify %t/both.mlir %t/both.equal.mlir --json --real-sizes | FileCheck %s --check-prefix=REAL

// Two members of "tp" by six of "dp".
// BOTH: "evaluated_ranks": 12
// BOTH: "ranks": 80
// ALL: "evaluated_ranks": 40
// REAL: "evaluated_ranks": 80

//--- both.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %a = tp.all_reduce sum %x group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23], [24, 25], [26, 27], [28, 29], [30, 31], [32, 33], [34, 35], [36, 37], [38, 39], [40, 41], [42, 43], [44, 45], [46, 47], [48, 49], [50, 51], [52, 53], [54, 55], [56, 57], [58, 59], [60, 61], [62, 63], [64, 65], [66, 67], [68, 69], [70, 71], [72, 73], [74, 75], [76, 77], [78, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = tp.map exp(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tp.all_reduce sum %b group <"dp", [[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78], [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63, 65, 67, 69, 71, 73, 75, 77, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

//--- both.equal.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %s = tp.reduce_scatter sum %x scatter_axis 0 group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23], [24, 25], [26, 27], [28, 29], [30, 31], [32, 33], [34, 35], [36, 37], [38, 39], [40, 41], [42, 43], [44, 45], [46, 47], [48, 49], [50, 51], [52, 53], [54, 55], [56, 57], [58, 59], [60, 61], [62, 63], [64, 65], [66, 67], [68, 69], [70, 71], [72, 73], [74, 75], [76, 77], [78, 79]]> : tensor<4x8xf32> -> tensor<2x8xf32>
  %e = tp.map exp(%s) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %r = tp.all_reduce sum %e group <"dp", [[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78], [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63, 65, 67, 69, 71, 73, 75, 77, 79]]> : tensor<2x8xf32> -> tensor<2x8xf32>
  %0 = tp.all_gather %r gather_axis 0 group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23], [24, 25], [26, 27], [28, 29], [30, 31], [32, 33], [34, 35], [36, 37], [38, 39], [40, 41], [42, 43], [44, 45], [46, 47], [48, 49], [50, 51], [52, 53], [54, 55], [56, 57], [58, 59], [60, 61], [62, 63], [64, 65], [66, 67], [68, 69], [70, 71], [72, 73], [74, 75], [76, 77], [78, 79]]> : tensor<2x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The sum before the function.
//--- both.wrong.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %a = tp.all_reduce sum %x group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23], [24, 25], [26, 27], [28, 29], [30, 31], [32, 33], [34, 35], [36, 37], [38, 39], [40, 41], [42, 43], [44, 45], [46, 47], [48, 49], [50, 51], [52, 53], [54, 55], [56, 57], [58, 59], [60, 61], [62, 63], [64, 65], [66, 67], [68, 69], [70, 71], [72, 73], [74, 75], [76, 77], [78, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = tp.all_reduce sum %a group <"dp", [[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78], [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63, 65, 67, 69, 71, 73, 75, 77, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %0 = tp.map exp(%b) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Forty times the own value.
//--- both.wrong-own.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %n = tp.constant 40.0 : f64 -> tensor<f32>
  %a = tp.all_reduce sum %x group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23], [24, 25], [26, 27], [28, 29], [30, 31], [32, 33], [34, 35], [36, 37], [38, 39], [40, 41], [42, 43], [44, 45], [46, 47], [48, 49], [50, 51], [52, 53], [54, 55], [56, 57], [58, 59], [60, 61], [62, 63], [64, 65], [66, 67], [68, 69], [70, 71], [72, 73], [74, 75], [76, 77], [78, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = tp.map exp(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tp.map mul(%b, %n) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %1 = tp.all_reduce sum %0 group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23], [24, 25], [26, 27], [28, 29], [30, 31], [32, 33], [34, 35], [36, 37], [38, 39], [40, 41], [42, 43], [44, 45], [46, 47], [48, 49], [50, 51], [52, 53], [54, 55], [56, 57], [58, 59], [60, 61], [62, 63], [64, 65], [66, 67], [68, 69], [70, 71], [72, 73], [74, 75], [76, 77], [78, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %2 = tp.all_reduce sum %1 group <"dp", [[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78], [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63, 65, 67, 69, 71, 73, 75, 77, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The maximum of all is that of two halves; the mean is a fortieth of the sum.
//--- both.wrong-mean.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %a = tp.all_reduce sum %x group <"tp", [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13], [14, 15], [16, 17], [18, 19], [20, 21], [22, 23], [24, 25], [26, 27], [28, 29], [30, 31], [32, 33], [34, 35], [36, 37], [38, 39], [40, 41], [42, 43], [44, 45], [46, 47], [48, 49], [50, 51], [52, 53], [54, 55], [56, 57], [58, 59], [60, 61], [62, 63], [64, 65], [66, 67], [68, 69], [70, 71], [72, 73], [74, 75], [76, 77], [78, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = tp.map exp(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = tp.all_reduce avg %b group <"dp", [[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66, 68, 70, 72, 74, 76, 78], [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63, 65, 67, 69, 71, 73, 75, 77, 79]]> : tensor<4x8xf32> -> tensor<4x8xf32>
  %n = tp.constant 41.0 : f64 -> tensor<f32>
  %0 = tp.map mul(%c, %n) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

//--- sum.mlir
func.func @main(%x: tensor<40x2xf32> {tp.name = "x"}) -> tensor<40x2xf32> {
  %0 = tp.all_reduce sum %x group <"w", [0 to 39]> : tensor<40x2xf32> -> tensor<40x2xf32>
  return %0 : tensor<40x2xf32>
}

//--- sum.equal.mlir
func.func @main(%x: tensor<40x2xf32> {tp.name = "x"}) -> tensor<40x2xf32> {
  %s = tp.reduce_scatter sum %x scatter_axis 0 group <"w", [0 to 39]> : tensor<40x2xf32> -> tensor<1x2xf32>
  %0 = tp.all_gather %s gather_axis 0 group <"w", [0 to 39]> : tensor<1x2xf32> -> tensor<40x2xf32>
  return %0 : tensor<40x2xf32>
}

// Two blocks swapped.
//--- sum.wrong.mlir
func.func @main(%x: tensor<40x2xf32> {tp.name = "x"}) -> tensor<40x2xf32> {
  %s = tp.reduce_scatter sum %x scatter_axis 0 group <"w", [0 to 39]> : tensor<40x2xf32> -> tensor<1x2xf32>
  %g = tp.all_gather %s gather_axis 0 group <"w", [0 to 39]> : tensor<1x2xf32> -> tensor<40x2xf32>
  %a = tp.slice %g dim 0 start 0 step 1 : tensor<40x2xf32> -> tensor<23x2xf32>
  %b = tp.slice %g dim 0 start 23 step 1 : tensor<40x2xf32> -> tensor<1x2xf32>
  %c = tp.slice %g dim 0 start 24 step 1 : tensor<40x2xf32> -> tensor<1x2xf32>
  %d = tp.slice %g dim 0 start 25 step 1 : tensor<40x2xf32> -> tensor<15x2xf32>
  %0 = tp.concat %a, %c, %b, %d dim 0 : (tensor<23x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<15x2xf32>) -> tensor<40x2xf32>
  return %0 : tensor<40x2xf32>
}
