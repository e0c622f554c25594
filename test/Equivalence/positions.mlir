// Positions are computed with at real sizes: what is off by one position is
// different, however long the dims are.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

// A threshold.
//--- threshold.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4096xi64>
  %n = tp.constant 1000 : i64 -> tensor<i64>
  %c = tp.map less(%i, %n) : (tensor<4096xi64>, tensor<i64>) -> tensor<4096xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<4096xi1>, tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

//--- threshold.equal.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %0 = tp.slice %x dim 0 start 0 step 1 : tensor<4096xf32> -> tensor<1000xf32>
  %z = tp.constant 0.0 : f64 -> tensor<3096xf32>
  %1 = tp.concat %0, %z dim 0 : (tensor<1000xf32>, tensor<3096xf32>) -> tensor<4096xf32>
  return %1 : tensor<4096xf32>
}

//--- threshold.equal-at-most.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4096xi64>
  %n = tp.constant 999 : i64 -> tensor<i64>
  %c = tp.map greater_equal(%n, %i) : (tensor<i64>, tensor<4096xi64>) -> tensor<4096xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<4096xi1>, tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

//--- threshold.wrong.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4096xi64>
  %n = tp.constant 1000 : i64 -> tensor<i64>
  %c = tp.map less_equal(%i, %n) : (tensor<4096xi64>, tensor<i64>) -> tensor<4096xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<4096xi1>, tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

//--- threshold.wrong-slice.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %0 = tp.slice %x dim 0 start 0 step 1 : tensor<4096xf32> -> tensor<1001xf32>
  %z = tp.constant 0.0 : f64 -> tensor<3095xf32>
  %1 = tp.concat %0, %z dim 0 : (tensor<1001xf32>, tensor<3095xf32>) -> tensor<4096xf32>
  return %1 : tensor<4096xf32>
}

// A diagonal, as a mask and as positions compared.
//--- diagonal.mlir
func.func @main(%x: tensor<512x512xf32> {tp.name = "x"}) -> tensor<512x512xf32> {
  %0 = tp.triangular %x diagonal -7 : tensor<512x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

//--- diagonal.equal.mlir
func.func @main(%x: tensor<512x512xf32> {tp.name = "x"}) -> tensor<512x512xf32> {
  %j = tp.iota 0 : i64 step 1 : i64 -> tensor<512xi64>
  %i = tp.iota -7 : i64 step 1 : i64 -> tensor<512xi64>
  %k = tp.reshape %i : tensor<512xi64> -> tensor<512x1xi64>
  %c = tp.map less_equal(%j, %k) : (tensor<512xi64>, tensor<512x1xi64>) -> tensor<512x512xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

//--- diagonal.wrong.mlir
func.func @main(%x: tensor<512x512xf32> {tp.name = "x"}) -> tensor<512x512xf32> {
  %0 = tp.triangular %x diagonal -8 : tensor<512x512xf32> -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

//--- diagonal.wrong-less.mlir
func.func @main(%x: tensor<512x512xf32> {tp.name = "x"}) -> tensor<512x512xf32> {
  %j = tp.iota 0 : i64 step 1 : i64 -> tensor<512xi64>
  %i = tp.iota -7 : i64 step 1 : i64 -> tensor<512xi64>
  %k = tp.reshape %i : tensor<512xi64> -> tensor<512x1xi64>
  %c = tp.map less(%j, %k) : (tensor<512xi64>, tensor<512x1xi64>) -> tensor<512x512xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// One row, chosen by a code that is one at its place.
//--- onehot.mlir
func.func @main(%x: tensor<1000x64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<1000xi64>
  %n = tp.constant 617 : i64 -> tensor<1xi64>
  %c = tp.map equal(%i, %n) : (tensor<1000xi64>, tensor<1xi64>) -> tensor<1000xi1>
  %f = tp.cast %c : tensor<1000xi1> -> tensor<1000xf32>
  %r = tp.reshape %f : tensor<1000xf32> -> tensor<1x1000xf32>
  %0 = tp.matmul %r, %x : (tensor<1x1000xf32>, tensor<1000x64xf32>) -> tensor<1x64xf32>
  %1 = tp.reshape %0 : tensor<1x64xf32> -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

//--- onehot.equal.mlir
func.func @main(%x: tensor<1000x64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %0 = tp.slice %x dim 0 start 617 step 1 : tensor<1000x64xf32> -> tensor<1x64xf32>
  %1 = tp.reshape %0 : tensor<1x64xf32> -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

//--- onehot.equal-take.mlir
func.func @main(%x: tensor<1000x64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.constant 617 : i64 -> tensor<i64>
  %0 = tp.take %x, %n dim 0 : (tensor<1000x64xf32>, tensor<i64>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- onehot.wrong.mlir
func.func @main(%x: tensor<1000x64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.constant 618 : i64 -> tensor<i64>
  %0 = tp.take %x, %n dim 0 : (tensor<1000x64xf32>, tensor<i64>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Every seventh position.
//--- remainder.mlir
func.func @main(%x: tensor<320xf32> {tp.name = "x"}) -> tensor<46xf32> {
  %0 = tp.slice %x dim 0 start 3 step 7 : tensor<320xf32> -> tensor<46xf32>
  %1 = tp.map exp(%0) : (tensor<46xf32>) -> tensor<46xf32>
  return %1 : tensor<46xf32>
}

//--- remainder.equal.mlir
func.func @main(%x: tensor<320xf32> {tp.name = "x"}) -> tensor<46xf32> {
  %0 = tp.map exp(%x) : (tensor<320xf32>) -> tensor<320xf32>
  %i = tp.iota 3 : i64 step 7 : i64 -> tensor<46xi64>
  %1 = tp.take %0, %i dim 0 : (tensor<320xf32>, tensor<46xi64>) -> tensor<46xf32>
  return %1 : tensor<46xf32>
}

//--- remainder.wrong.mlir
func.func @main(%x: tensor<320xf32> {tp.name = "x"}) -> tensor<46xf32> {
  %0 = tp.slice %x dim 0 start 4 step 7 : tensor<320xf32> -> tensor<46xf32>
  %1 = tp.map exp(%0) : (tensor<46xf32>) -> tensor<46xf32>
  return %1 : tensor<46xf32>
}

//--- remainder.wrong-step.mlir
func.func @main(%x: tensor<320xf32> {tp.name = "x"}) -> tensor<46xf32> {
  %0 = tp.slice %x dim 0 start 3 step 6 : tensor<320xf32> -> tensor<46xf32>
  %1 = tp.map exp(%0) : (tensor<46xf32>) -> tensor<46xf32>
  return %1 : tensor<46xf32>
}

// Blocks of 32 positions: by division, by remainders, by shape.
//--- blocks.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4096xi64>
  %n = tp.constant 32 : i64 -> tensor<i64>
  %q = tp.map floor_div(%i, %n) : (tensor<4096xi64>, tensor<i64>) -> tensor<4096xi64>
  %f = tp.cast %q : tensor<4096xi64> -> tensor<4096xf32>
  %0 = tp.map mul(%x, %f) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

//--- blocks.equal.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4096xi64>
  %n = tp.constant 32 : i64 -> tensor<i64>
  %r = tp.map remainder(%i, %n) : (tensor<4096xi64>, tensor<i64>) -> tensor<4096xi64>
  %d = tp.map sub(%i, %r) : (tensor<4096xi64>, tensor<4096xi64>) -> tensor<4096xi64>
  %f = tp.cast %d : tensor<4096xi64> -> tensor<4096xf32>
  %s = tp.constant 0.03125 : f64 -> tensor<f32>
  %g = tp.map mul(%f, %s) : (tensor<4096xf32>, tensor<f32>) -> tensor<4096xf32>
  %0 = tp.map mul(%x, %g) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

//--- blocks.equal-shape.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %q = tp.iota 0 : i64 step 1 : i64 -> tensor<128xi64>
  %f = tp.cast %q : tensor<128xi64> -> tensor<128xf32>
  %g = tp.reshape %f : tensor<128xf32> -> tensor<128x1xf32>
  %y = tp.reshape %x : tensor<4096xf32> -> tensor<128x32xf32>
  %z = tp.map mul(%y, %g) : (tensor<128x32xf32>, tensor<128x1xf32>) -> tensor<128x32xf32>
  %0 = tp.reshape %z : tensor<128x32xf32> -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

//--- blocks.wrong.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4096xi64>
  %n = tp.constant 33 : i64 -> tensor<i64>
  %q = tp.map floor_div(%i, %n) : (tensor<4096xi64>, tensor<i64>) -> tensor<4096xi64>
  %f = tp.cast %q : tensor<4096xi64> -> tensor<4096xf32>
  %0 = tp.map mul(%x, %f) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

//--- blocks.wrong-start.mlir
func.func @main(%x: tensor<4096xf32> {tp.name = "x"}) -> tensor<4096xf32> {
  %i = tp.iota 1 : i64 step 1 : i64 -> tensor<4096xi64>
  %n = tp.constant 32 : i64 -> tensor<i64>
  %q = tp.map floor_div(%i, %n) : (tensor<4096xi64>, tensor<i64>) -> tensor<4096xi64>
  %f = tp.cast %q : tensor<4096xi64> -> tensor<4096xf32>
  %0 = tp.map mul(%x, %f) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %0 : tensor<4096xf32>
}

// Rolled by 500 of 1001.
//--- roll.mlir
func.func @main(%x: tensor<1001xf32> {tp.name = "x"}) -> tensor<1001xf32> {
  %a = tp.slice %x dim 0 start 501 step 1 : tensor<1001xf32> -> tensor<500xf32>
  %b = tp.slice %x dim 0 start 0 step 1 : tensor<1001xf32> -> tensor<501xf32>
  %0 = tp.concat %a, %b dim 0 : (tensor<500xf32>, tensor<501xf32>) -> tensor<1001xf32>
  return %0 : tensor<1001xf32>
}

//--- roll.equal.mlir
func.func @main(%x: tensor<1001xf32> {tp.name = "x"}) -> tensor<1001xf32> {
  %i = tp.iota -500 : i64 step 1 : i64 -> tensor<1001xi64>
  %n = tp.constant 1001 : i64 -> tensor<i64>
  %j = tp.map remainder(%i, %n) : (tensor<1001xi64>, tensor<i64>) -> tensor<1001xi64>
  %0 = tp.take %x, %j dim 0 : (tensor<1001xf32>, tensor<1001xi64>) -> tensor<1001xf32>
  return %0 : tensor<1001xf32>
}

//--- roll.wrong.mlir
func.func @main(%x: tensor<1001xf32> {tp.name = "x"}) -> tensor<1001xf32> {
  %a = tp.slice %x dim 0 start 500 step 1 : tensor<1001xf32> -> tensor<501xf32>
  %b = tp.slice %x dim 0 start 0 step 1 : tensor<1001xf32> -> tensor<500xf32>
  %0 = tp.concat %a, %b dim 0 : (tensor<501xf32>, tensor<500xf32>) -> tensor<1001xf32>
  return %0 : tensor<1001xf32>
}

//--- roll.wrong-take.mlir
func.func @main(%x: tensor<1001xf32> {tp.name = "x"}) -> tensor<1001xf32> {
  %i = tp.iota -501 : i64 step 1 : i64 -> tensor<1001xi64>
  %n = tp.constant 1001 : i64 -> tensor<i64>
  %j = tp.map remainder(%i, %n) : (tensor<1001xi64>, tensor<i64>) -> tensor<1001xi64>
  %0 = tp.take %x, %j dim 0 : (tensor<1001xf32>, tensor<1001xi64>) -> tensor<1001xf32>
  return %0 : tensor<1001xf32>
}

// Positions that start elsewhere.
//--- start.mlir
func.func @main() -> tensor<16xi64> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<32xi64>
  %0 = tp.slice %i dim 0 start 16 step 1 : tensor<32xi64> -> tensor<16xi64>
  return %0 : tensor<16xi64>
}

//--- start.equal.mlir
func.func @main() -> tensor<16xi64> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<16xi64>
  %n = tp.constant 16 : i64 -> tensor<i64>
  %0 = tp.map add(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  return %0 : tensor<16xi64>
}

//--- start.wrong.mlir
func.func @main() -> tensor<16xi64> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<16xi64>
  %n = tp.constant 15 : i64 -> tensor<i64>
  %0 = tp.map add(%i, %n) : (tensor<16xi64>, tensor<i64>) -> tensor<16xi64>
  return %0 : tensor<16xi64>
}

// How many positions there are before each one.
//--- count.mlir
func.func @main(%x: tensor<2048xf32> {tp.name = "x"}) -> tensor<2048xf32> {
  %one = tp.constant 1 : i64 -> tensor<2048xi64>
  %i = tp.rowwise cumulative_sum %one dim 0 : tensor<2048xi64> -> tensor<2048xi64>
  %f = tp.cast %i : tensor<2048xi64> -> tensor<2048xf32>
  %0 = tp.map mul(%x, %f) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  return %0 : tensor<2048xf32>
}

//--- count.equal.mlir
func.func @main(%x: tensor<2048xf32> {tp.name = "x"}) -> tensor<2048xf32> {
  %i = tp.iota 1 : i64 step 1 : i64 -> tensor<2048xi64>
  %f = tp.cast %i : tensor<2048xi64> -> tensor<2048xf32>
  %0 = tp.map mul(%x, %f) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  return %0 : tensor<2048xf32>
}

//--- count.wrong.mlir
func.func @main(%x: tensor<2048xf32> {tp.name = "x"}) -> tensor<2048xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<2048xi64>
  %f = tp.cast %i : tensor<2048xi64> -> tensor<2048xf32>
  %0 = tp.map mul(%x, %f) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  return %0 : tensor<2048xf32>
}

// A band around the diagonal, of distances that are floats.
//--- band.mlir
func.func @main(%x: tensor<512x512xf32> {tp.name = "x"}) -> tensor<512x512xf32> {
  %position = tp.iota 0 : i64 step 1 : i64 -> tensor<512xi64>
  %j = tp.cast %position : tensor<512xi64> -> tensor<512xf32>
  %i = tp.reshape %j : tensor<512xf32> -> tensor<512x1xf32>
  %d = tp.map sub(%j, %i) : (tensor<512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
  %a = tp.map abs(%d) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n = tp.constant 2.5 : f64 -> tensor<f32>
  %c = tp.map less(%a, %n) : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

//--- band.equal.mlir
func.func @main(%x: tensor<512x512xf32> {tp.name = "x"}) -> tensor<512x512xf32> {
  %j = tp.iota 0 : i64 step 1 : i64 -> tensor<512xi64>
  %i = tp.reshape %j : tensor<512xi64> -> tensor<512x1xi64>
  %d = tp.map sub(%i, %j) : (tensor<512x1xi64>, tensor<512xi64>) -> tensor<512x512xi64>
  %least = tp.constant -2 : i64 -> tensor<i64>
  %most = tp.constant 2 : i64 -> tensor<i64>
  %above = tp.map greater_equal(%d, %least) : (tensor<512x512xi64>, tensor<i64>) -> tensor<512x512xi1>
  %below = tp.map less_equal(%d, %most) : (tensor<512x512xi64>, tensor<i64>) -> tensor<512x512xi1>
  %c = tp.map logical_and(%above, %below) : (tensor<512x512xi1>, tensor<512x512xi1>) -> tensor<512x512xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

//--- band.wrong.mlir
func.func @main(%x: tensor<512x512xf32> {tp.name = "x"}) -> tensor<512x512xf32> {
  %position = tp.iota 0 : i64 step 1 : i64 -> tensor<512xi64>
  %j = tp.cast %position : tensor<512xi64> -> tensor<512xf32>
  %i = tp.reshape %j : tensor<512xf32> -> tensor<512x1xf32>
  %d = tp.map sub(%j, %i) : (tensor<512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
  %a = tp.map abs(%d) : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n = tp.constant 3.0 : f64 -> tensor<f32>
  %c = tp.map less_equal(%a, %n) : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xi1>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map select(%c, %x, %z) : (tensor<512x512xi1>, tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// Which of two positions is the larger one.
//--- side.mlir
func.func @main(%x: tensor<64x64xf32> {tp.name = "x"}) -> tensor<64x64xf32> {
  %position = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %j = tp.cast %position : tensor<64xi64> -> tensor<64xf32>
  %i = tp.reshape %j : tensor<64xf32> -> tensor<64x1xf32>
  %d = tp.map sub(%j, %i) : (tensor<64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %s = tp.map sign(%d) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %0 = tp.map mul(%x, %s) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

//--- side.equal.mlir
func.func @main(%x: tensor<64x64xf32> {tp.name = "x"}) -> tensor<64x64xf32> {
  %above = tp.triangular %x upper diagonal 1 : tensor<64x64xf32> -> tensor<64x64xf32>
  %below = tp.triangular %x diagonal -1 : tensor<64x64xf32> -> tensor<64x64xf32>
  %0 = tp.map sub(%above, %below) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

//--- side.wrong.mlir
func.func @main(%x: tensor<64x64xf32> {tp.name = "x"}) -> tensor<64x64xf32> {
  %above = tp.triangular %x upper diagonal 0 : tensor<64x64xf32> -> tensor<64x64xf32>
  %below = tp.triangular %x diagonal -1 : tensor<64x64xf32> -> tensor<64x64xf32>
  %0 = tp.map sub(%above, %below) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}
