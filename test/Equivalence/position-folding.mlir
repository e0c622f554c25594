// Masks of packed sequences: which sequence a position belongs to is counted from
// neighbouring positions, and looked up by positions. At 65536 positions, the
// proof depends on all of this being known at once.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute verify %t/packed.mlir %t/causal.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/packed.mlir %t/off-by-one.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify --show-sizes %t/packed.mlir %t/causal.mlir | FileCheck %s --check-prefix=SIZES
// A position that does begin a sequence is no less known.
// RUN: commute verify %t/second-begins.mlir %t/second-begins-stated.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/second-begins.mlir %t/causal.mlir | FileCheck %s --check-prefix=DIFFERENT
// A look-up outside of the table is an error, which is not folded away.
// RUN: not commute verify %t/inside.mlir %t/outside.mlir | FileCheck %s --check-prefix=DIFFERENT
// EQUAL: equivalent
// DIFFERENT: different
// SIZES-NOT: its positions are computed with

//--- packed.mlir
func.func @main(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %position = tp.iota 0 : i64 step 1 : i64 -> tensor<65536xi64>
  %first = tp.slice %position dim 0 start 0 step 1 : tensor<65536xi64> -> tensor<1xi64>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %before = tp.map sub(%first, %one) : (tensor<1xi64>, tensor<i64>) -> tensor<1xi64>
  %all = tp.concat %before, %position dim 0 : (tensor<1xi64>, tensor<65536xi64>) -> tensor<65537xi64>
  %low = tp.slice %all dim 0 start 0 step 1 : tensor<65537xi64> -> tensor<65536xi64>
  %high = tp.slice %all dim 0 start 1 step 1 : tensor<65537xi64> -> tensor<65536xi64>
  %step = tp.map sub(%high, %low) : (tensor<65536xi64>, tensor<65536xi64>) -> tensor<65536xi64>
  %begins = tp.map not_equal(%step, %one) : (tensor<65536xi64>, tensor<i64>) -> tensor<65536xi1>
  %sequence = tp.rowwise cumulative_sum %begins dim 0 : tensor<65536xi1> -> tensor<65536xi64>
  %own = tp.take %sequence, %position dim 0 : (tensor<65536xi64>, tensor<65536xi64>) -> tensor<65536xi64>
  %column = tp.reshape %own : tensor<65536xi64> -> tensor<65536x1xi64>
  %row = tp.reshape %own : tensor<65536xi64> -> tensor<1x65536xi64>
  %same = tp.map equal(%column, %row) : (tensor<65536x1xi64>, tensor<1x65536xi64>) -> tensor<65536x65536xi1>
  %i = tp.reshape %position : tensor<65536xi64> -> tensor<65536x1xi64>
  %j = tp.reshape %position : tensor<65536xi64> -> tensor<1x65536xi64>
  %past = tp.map less_equal(%j, %i) : (tensor<1x65536xi64>, tensor<65536x1xi64>) -> tensor<65536x65536xi1>
  %mask = tp.map logical_and(%same, %past) : (tensor<65536x65536xi1>, tensor<65536x65536xi1>) -> tensor<65536x65536xi1>
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %seen = tp.map select(%mask, %x, %zero) : (tensor<65536x65536xi1>, tensor<65536xf32>, tensor<f32>) -> tensor<65536x65536xf32>
  %r = tp.reduce sum %seen dims [1] : tensor<65536x65536xf32> -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

//--- causal.mlir
func.func @main(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %position = tp.iota 0 : i64 step 1 : i64 -> tensor<65536xi64>
  %i = tp.reshape %position : tensor<65536xi64> -> tensor<65536x1xi64>
  %j = tp.reshape %position : tensor<65536xi64> -> tensor<1x65536xi64>
  %mask = tp.map less_equal(%j, %i) : (tensor<1x65536xi64>, tensor<65536x1xi64>) -> tensor<65536x65536xi1>
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %seen = tp.map select(%mask, %x, %zero) : (tensor<65536x65536xi1>, tensor<65536xf32>, tensor<f32>) -> tensor<65536x65536xf32>
  %r = tp.reduce sum %seen dims [1] : tensor<65536x65536xf32> -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

//--- off-by-one.mlir
func.func @main(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %position = tp.iota 0 : i64 step 1 : i64 -> tensor<65536xi64>
  %i = tp.reshape %position : tensor<65536xi64> -> tensor<65536x1xi64>
  %j = tp.reshape %position : tensor<65536xi64> -> tensor<1x65536xi64>
  %mask = tp.map less(%j, %i) : (tensor<1x65536xi64>, tensor<65536x1xi64>) -> tensor<65536x65536xi1>
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %seen = tp.map select(%mask, %x, %zero) : (tensor<65536x65536xi1>, tensor<65536xf32>, tensor<f32>) -> tensor<65536x65536xf32>
  %r = tp.reduce sum %seen dims [1] : tensor<65536x65536xf32> -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

//--- second-begins.mlir
// Positions 0 to 39999 and 0 to 25535: two sequences.
func.func @main(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %a = tp.iota 0 : i64 step 1 : i64 -> tensor<40000xi64>
  %b = tp.iota 0 : i64 step 1 : i64 -> tensor<25536xi64>
  %start = tp.constant -1 : i64 -> tensor<1xi64>
  %position = tp.concat %a, %b dim 0 : (tensor<40000xi64>, tensor<25536xi64>) -> tensor<65536xi64>
  %all = tp.concat %start, %position dim 0 : (tensor<1xi64>, tensor<65536xi64>) -> tensor<65537xi64>
  %low = tp.slice %all dim 0 start 0 step 1 : tensor<65537xi64> -> tensor<65536xi64>
  %step = tp.map sub(%position, %low) : (tensor<65536xi64>, tensor<65536xi64>) -> tensor<65536xi64>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %begins = tp.map not_equal(%step, %one) : (tensor<65536xi64>, tensor<i64>) -> tensor<65536xi1>
  %sequences = tp.reduce sum %begins dims [0] : tensor<65536xi1> -> tensor<i64>
  %count = tp.cast %sequences : tensor<i64> -> tensor<f32>
  %r = tp.map mul(%x, %count) : (tensor<65536xf32>, tensor<f32>) -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

//--- second-begins-stated.mlir
func.func @main(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %count = tp.constant 1.0 : f64 -> tensor<f32>
  %r = tp.map mul(%x, %count) : (tensor<65536xf32>, tensor<f32>) -> tensor<65536xf32>
  return %r : tensor<65536xf32>
}

//--- inside.mlir
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %position = tp.iota 0 : i64 step 1 : i64 -> tensor<16xi64>
  %five = tp.constant 5 : i64 -> tensor<16xi64>
  %taken = tp.take %five, %position dim 0 : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %r = tp.map add(%x, %taken) : (tensor<16xf32>, tensor<16xi64>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}

//--- outside.mlir
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %position = tp.iota 1 : i64 step 1 : i64 -> tensor<16xi64>
  %five = tp.constant 5 : i64 -> tensor<16xi64>
  %taken = tp.take %five, %position dim 0 : (tensor<16xi64>, tensor<16xi64>) -> tensor<16xi64>
  %r = tp.map add(%x, %taken) : (tensor<16xf32>, tensor<16xi64>) -> tensor<16xf32>
  return %r : tensor<16xf32>
}
