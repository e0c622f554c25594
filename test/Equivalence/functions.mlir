// What is known of functions that are unknown otherwise: their symmetry, and their
// values at zero.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

// The distance of two values is the same from both.
//--- distance.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}, %y: tensor<64xf32> {tp.name = "y"}) -> tensor<64xf32> {
  %d = tp.map sub(%x, %y) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map abs(%d) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- distance.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}, %y: tensor<64xf32> {tp.name = "y"}) -> tensor<64xf32> {
  %d = tp.map sub(%y, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %a = tp.map abs(%d) : (tensor<64xf32>) -> tensor<64xf32>
  %n = tp.map neg(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map abs(%n) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- distance.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}, %y: tensor<64xf32> {tp.name = "y"}) -> tensor<64xf32> {
  %d = tp.map add(%x, %y) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map abs(%d) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// sin is odd.
//--- sin.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %0 = tp.map sin(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- sin.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %f = tp.map sin(%n) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map neg(%f) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- sin.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map sin(%n) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// tanh is odd.
//--- tanh.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %0 = tp.map tanh(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- tanh.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %f = tp.map tanh(%n) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map neg(%f) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- tanh.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map tanh(%n) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// erf is odd.
//--- erf.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %0 = tp.map erf(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- erf.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %f = tp.map erf(%n) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map neg(%f) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- erf.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map erf(%n) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// cos is even.
//--- cos.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %0 = tp.map cos(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- cos.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map cos(%n) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- cos.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %f = tp.map cos(%n) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map neg(%f) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The probabilities of both sides add up to one.
//--- sigmoid.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %0 = tp.map sigmoid(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- sigmoid.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<64xf32>
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %f = tp.map sigmoid(%n) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map sub(%one, %f) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- sigmoid.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %f = tp.map sigmoid(%n) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map neg(%f) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// gelu has no symmetry.
//--- gelu.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %0 = tp.map gelu(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- gelu.wrong-odd.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %f = tp.map gelu(%n) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map neg(%f) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- gelu.wrong-even.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %n = tp.map neg(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map gelu(%n) : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// The rotary embedding of the first position changes nothing.
//--- rotary.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %zero = tp.constant 0.0 : f64 -> tensor<64xf32>
  %c = tp.map cos(%zero) : (tensor<64xf32>) -> tensor<64xf32>
  %s = tp.map sin(%zero) : (tensor<64xf32>) -> tensor<64xf32>
  %a = tp.map mul(%x, %c) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %b = tp.map mul(%x, %s) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map add(%a, %b) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- rotary.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %zero = tp.constant 0.0 : f64 -> tensor<64xf32>
  %0 = tp.map add(%x, %zero) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- rotary.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %zero = tp.constant 0.0 : f64 -> tensor<64xf32>
  %c = tp.map cos(%zero) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map add(%x, %c) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// Positions are rounded and divided as numbers.
//--- floor.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %p = tp.cast %i : tensor<64xi64> -> tensor<64xf32>
  %h = tp.constant 0.25 : f64 -> tensor<f32>
  %s = tp.map mul(%p, %h) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %q = tp.map floor(%s) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- floor.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %four = tp.constant 4 : i64 -> tensor<i64>
  %k = tp.map floor_div(%i, %four) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
  %q = tp.cast %k : tensor<64xi64> -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- floor.equal-division.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %p = tp.cast %i : tensor<64xi64> -> tensor<64xf32>
  %four = tp.constant 4.0 : f64 -> tensor<f32>
  %q = tp.map floor_div(%p, %four) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- floor.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %p = tp.cast %i : tensor<64xi64> -> tensor<64xf32>
  %h = tp.constant 0.25 : f64 -> tensor<f32>
  %s = tp.map mul(%p, %h) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %q = tp.map ceil(%s) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- floor.wrong-round.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %p = tp.cast %i : tensor<64xi64> -> tensor<64xf32>
  %h = tp.constant 0.25 : f64 -> tensor<f32>
  %s = tp.map mul(%p, %h) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %q = tp.map round(%s) : (tensor<64xf32>) -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- phase.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %p = tp.cast %i : tensor<64xi64> -> tensor<64xf32>
  %n = tp.constant 7.0 : f64 -> tensor<f32>
  %q = tp.map remainder(%p, %n) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- phase.equal.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %n = tp.constant 7 : i64 -> tensor<i64>
  %k = tp.map remainder(%i, %n) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
  %q = tp.cast %k : tensor<64xi64> -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- phase.wrong.mlir
func.func @main(%x: tensor<64xf32> {tp.name = "x"}) -> tensor<64xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<64xi64>
  %n = tp.constant 8 : i64 -> tensor<i64>
  %k = tp.map remainder(%i, %n) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
  %q = tp.cast %k : tensor<64xi64> -> tensor<64xf32>
  %0 = tp.map mul(%x, %q) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
