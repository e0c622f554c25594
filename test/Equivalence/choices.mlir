// What a comparison of floats decides is unknown: both outcomes count.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- where.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %c = tp.map less(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %e = tp.map exp(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map select(%c, %x, %e) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- where.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %c = tp.map less_equal(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %e = tp.map exp(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map select(%c, %e, %x) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- where.equal-product.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %c = tp.map greater(%y, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %f = tp.cast %c : tensor<8xi1> -> tensor<8xf32>
  %e = tp.map exp(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %d = tp.map sub(%x, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %p = tp.map mul(%f, %d) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map add(%p, %e) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- where.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %c = tp.map less_equal(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %e = tp.map exp(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map select(%c, %x, %e) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- where.wrong-branch.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %c = tp.map less(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %e = tp.map exp(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map select(%c, %x, %y) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- where.wrong-always.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// A threshold among floats.
//--- above.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.5 : f64 -> tensor<f32>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %c = tp.map greater(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  %0 = tp.map select(%c, %x, %z) : (tensor<8xi1>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- above.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.5 : f64 -> tensor<f32>
  %c = tp.map less(%n, %x) : (tensor<f32>, tensor<8xf32>) -> tensor<8xi1>
  %f = tp.cast %c : tensor<8xi1> -> tensor<8xf32>
  %0 = tp.map mul(%f, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- above.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.25 : f64 -> tensor<f32>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %c = tp.map greater(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  %0 = tp.map select(%c, %x, %z) : (tensor<8xi1>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A relu is no constant, and neither is whether it is zero.
//--- relu-is-zero.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xi1> {
  %r = tp.map relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map equal(%r, %z) : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- relu-is-zero.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xi1> {
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %r = tp.map maximum(%z, %x) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %d = tp.map not_equal(%z, %r) : (tensor<f32>, tensor<8xf32>) -> tensor<8xi1>
  %0 = tp.map logical_not(%d) : (tensor<8xi1>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- relu-is-zero.wrong-false.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xi1> {
  %0 = tp.constant false -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- relu-is-zero.wrong-true.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xi1> {
  %0 = tp.constant true -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

//--- relu-is-zero.wrong-operand.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xi1> {
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map equal(%x, %z) : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

// Bounds below and above.
//--- clamp.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %a = tp.constant -1.0 : f64 -> tensor<f32>
  %b = tp.constant 6.0 : f64 -> tensor<f32>
  %l = tp.map maximum(%x, %a) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map minimum(%l, %b) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- clamp.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %a = tp.constant -1.0 : f64 -> tensor<f32>
  %b = tp.constant 6.0 : f64 -> tensor<f32>
  %c = tp.map less(%x, %a) : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  %l = tp.map select(%c, %a, %x) : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %d = tp.map greater(%l, %b) : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  %0 = tp.map select(%d, %b, %l) : (tensor<8xi1>, tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- clamp.wrong-below.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %b = tp.constant 6.0 : f64 -> tensor<f32>
  %0 = tp.map minimum(%x, %b) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- clamp.wrong-above.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %a = tp.constant -1.0 : f64 -> tensor<f32>
  %b = tp.constant 6.5 : f64 -> tensor<f32>
  %l = tp.map maximum(%x, %a) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map minimum(%l, %b) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A maximum of many, in any order, some of them twice.
//--- maximum.mlir
func.func @main(%x: tensor<4x96xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.reduce max %x dims [1] : tensor<4x96xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- maximum.equal.mlir
func.func @main(%x: tensor<4x96xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %a = tp.slice %x dim 1 start 0 step 1 : tensor<4x96xf32> -> tensor<4x60xf32>
  %b = tp.slice %x dim 1 start 40 step 1 : tensor<4x96xf32> -> tensor<4x56xf32>
  %m = tp.reduce max %a dims [1] : tensor<4x60xf32> -> tensor<4xf32>
  %n = tp.reduce max %b dims [1] : tensor<4x56xf32> -> tensor<4xf32>
  %0 = tp.map maximum(%n, %m) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- maximum.wrong.mlir
func.func @main(%x: tensor<4x96xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %a = tp.slice %x dim 1 start 0 step 1 : tensor<4x96xf32> -> tensor<4x60xf32>
  %b = tp.slice %x dim 1 start 61 step 1 : tensor<4x96xf32> -> tensor<4x35xf32>
  %m = tp.reduce max %a dims [1] : tensor<4x60xf32> -> tensor<4xf32>
  %n = tp.reduce max %b dims [1] : tensor<4x35xf32> -> tensor<4xf32>
  %0 = tp.map maximum(%n, %m) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- maximum.wrong-minimum.mlir
func.func @main(%x: tensor<4x96xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.reduce min %x dims [1] : tensor<4x96xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Whether any is above a bound, and how many are.
//--- any.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> tensor<5xi1> {
  %z = tp.constant 0.5 : f64 -> tensor<f32>
  %c = tp.map greater(%x, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %0 = tp.reduce max %c dims [1] : tensor<5x3xi1> -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

//--- any.equal.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> tensor<5xi1> {
  %z = tp.constant 0.5 : f64 -> tensor<f32>
  %c = tp.map less_equal(%x, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %n = tp.reduce min %c dims [1] : tensor<5x3xi1> -> tensor<5xi1>
  %0 = tp.map logical_not(%n) : (tensor<5xi1>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

//--- any.wrong.mlir
func.func @main(%x: tensor<5x3xf32> {tp.name = "x"}) -> tensor<5xi1> {
  %z = tp.constant 0.5 : f64 -> tensor<f32>
  %c = tp.map greater(%x, %z) : (tensor<5x3xf32>, tensor<f32>) -> tensor<5x3xi1>
  %i = tp.cast %c : tensor<5x3xi1> -> tensor<5x3xi64>
  %s = tp.reduce sum %i dims [1] : tensor<5x3xi64> -> tensor<5xi64>
  %n = tp.constant 2 : i64 -> tensor<i64>
  %0 = tp.map greater_equal(%s, %n) : (tensor<5xi64>, tensor<i64>) -> tensor<5xi1>
  return %0 : tensor<5xi1>
}

// A count that only one outcome of very many tells from zero.
//--- one.mlir
func.func @main(%x: tensor<100xf32> {tp.name = "x"}) -> tensor<i1> {
  %n = tp.constant 1.0 : f64 -> tensor<f32>
  %zero = tp.constant 0 : i64 -> tensor<i64>
  %c = tp.map greater(%x, %n) : (tensor<100xf32>, tensor<f32>) -> tensor<100xi1>
  %i = tp.cast %c : tensor<100xi1> -> tensor<100xi64>
  %s = tp.reduce sum %i dims [0] : tensor<100xi64> -> tensor<i64>
  %0 = tp.map greater(%s, %zero) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}

//--- one.equal.mlir
func.func @main(%x: tensor<100xf32> {tp.name = "x"}) -> tensor<i1> {
  %n = tp.constant 1.0 : f64 -> tensor<f32>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %c = tp.map greater(%x, %n) : (tensor<100xf32>, tensor<f32>) -> tensor<100xi1>
  %i = tp.cast %c : tensor<100xi1> -> tensor<100xi64>
  %s = tp.reduce sum %i dims [0] : tensor<100xi64> -> tensor<i64>
  %0 = tp.map greater_equal(%s, %one) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}

//--- one.wrong.mlir
func.func @main(%x: tensor<100xf32> {tp.name = "x"}) -> tensor<i1> {
  %n = tp.constant 1.0 : f64 -> tensor<f32>
  %one = tp.constant 1 : i64 -> tensor<i64>
  %c = tp.map greater(%x, %n) : (tensor<100xf32>, tensor<f32>) -> tensor<100xi1>
  %i = tp.cast %c : tensor<100xi1> -> tensor<100xi64>
  %s = tp.reduce sum %i dims [0] : tensor<100xi64> -> tensor<i64>
  %0 = tp.map greater(%s, %one) : (tensor<i64>, tensor<i64>) -> tensor<i1>
  return %0 : tensor<i1>
}

// The largest of numbers is one of them, also in parts.
//--- numbers.mlir
func.func @main(%i: tensor<8x5xi64> {tp.name = "i"}) -> tensor<8xf32> {
  %n = tp.constant 3 : i64 -> tensor<i64>
  %c = tp.map equal(%i, %n) : (tensor<8x5xi64>, tensor<i64>) -> tensor<8x5xi1>
  %f = tp.cast %c : tensor<8x5xi1> -> tensor<8x5xf32>
  %0 = tp.reduce max %f dims [1] : tensor<8x5xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- numbers.equal.mlir
func.func @main(%i: tensor<8x5xi64> {tp.name = "i"}) -> tensor<8xf32> {
  %n = tp.constant 3 : i64 -> tensor<i64>
  %c = tp.map equal(%i, %n) : (tensor<8x5xi64>, tensor<i64>) -> tensor<8x5xi1>
  %f = tp.cast %c : tensor<8x5xi1> -> tensor<8x5xf32>
  %a = tp.slice %f dim 1 start 0 step 1 : tensor<8x5xf32> -> tensor<8x2xf32>
  %b = tp.slice %f dim 1 start 2 step 1 : tensor<8x5xf32> -> tensor<8x3xf32>
  %x = tp.reduce max %a dims [1] : tensor<8x2xf32> -> tensor<8xf32>
  %y = tp.reduce max %b dims [1] : tensor<8x3xf32> -> tensor<8xf32>
  %0 = tp.map maximum(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- numbers.wrong.mlir
func.func @main(%i: tensor<8x5xi64> {tp.name = "i"}) -> tensor<8xf32> {
  %n = tp.constant 3 : i64 -> tensor<i64>
  %c = tp.map equal(%i, %n) : (tensor<8x5xi64>, tensor<i64>) -> tensor<8x5xi1>
  %f = tp.cast %c : tensor<8x5xi1> -> tensor<8x5xf32>
  %0 = tp.reduce min %f dims [1] : tensor<8x5xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Of the numbers that bound an extreme, one counts, however they are grouped.
//--- bounds.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<f32>
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %a = tp.map minimum(%one, %x) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %b = tp.map minimum(%zero, %y) : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map minimum(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- bounds.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %a = tp.map minimum(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map minimum(%a, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- bounds.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<f32>
  %a = tp.map minimum(%x, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map minimum(%a, %one) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- bounds.wrong-operand.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.map minimum(%x, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A value that is beyond a number by its own bound is not bounded by it.
//--- beyond.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<f32>
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %a = tp.map maximum(%x, %one) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %b = tp.map maximum(%y, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map maximum(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- beyond.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<f32>
  %a = tp.map maximum(%y, %one) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map maximum(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- beyond.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %y: tensor<8xf32> {tp.name = "y"}) -> tensor<8xf32> {
  %zero = tp.constant 0.0 : f64 -> tensor<f32>
  %a = tp.map maximum(%y, %zero) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map maximum(%a, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
