// Constants are the numbers that they are, however large, and fractions are
// fractions. Sums of constants are numbers too.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

// 2^61 and 2^61 - 1, which a field of that size might take for 1 and 0.
//--- identity.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

//--- identity.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 1.0 : f64 -> tensor<f32>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- identity.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 2305843009213693952.0 : f64 -> tensor<f32>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- identity.wrong-in-steps.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 2147483648.0 : f64 -> tensor<f32>
  %m = tp.constant 1073741824.0 : f64 -> tensor<f32>
  %y = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map mul(%y, %m) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- zero.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}, %x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0 : i64 -> tensor<i64>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<i64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- zero.equal.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}, %x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %0 = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- zero.wrong.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}, %x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 2305843009213693951 : i64 -> tensor<i64>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<i64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// The prime of the field itself.
//--- zero.wrong-prime.mlir
func.func @main(%i: tensor<8xi64> {tp.name = "i"}, %x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 2305843009212921781 : i64 -> tensor<i64>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<i64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- tenth.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.1 : f64 -> tensor<f32>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- tenth.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 10.0 : f64 -> tensor<f32>
  %0 = tp.map div(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- tenth.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.1001 : f64 -> tensor<f32>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What masks add.
//--- masked.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant -3.4028234663852886e+38 : f64 -> tensor<f32>
  %0 = tp.map add(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- masked.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 3.4028234663852886e+38 : f64 -> tensor<f32>
  %0 = tp.map sub(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- masked.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant -1.0e+38 : f64 -> tensor<f32>
  %0 = tp.map add(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- masked.wrong-infinite.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0xFFF0000000000000 : f64 -> tensor<f32>
  %0 = tp.map add(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A softmax of constants is a mean.
//--- softmax.mlir
func.func @main(%x: tensor<4x1000xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %n = tp.constant 0.0 : f64 -> tensor<4x1000xf32>
  %s = tp.rowwise softmax %n dim 1 : tensor<4x1000xf32> -> tensor<4x1000xf32>
  %p = tp.map mul(%s, %x) : (tensor<4x1000xf32>, tensor<4x1000xf32>) -> tensor<4x1000xf32>
  %0 = tp.reduce sum %p dims [1] : tensor<4x1000xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- softmax.equal.mlir
func.func @main(%x: tensor<4x1000xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.reduce avg %x dims [1] : tensor<4x1000xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- softmax.wrong.mlir
func.func @main(%x: tensor<4x1000xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %n = tp.constant 0.002 : f64 -> tensor<f32>
  %s = tp.reduce sum %x dims [1] : tensor<4x1000xf32> -> tensor<4xf32>
  %0 = tp.map mul(%s, %n) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A sum of ones beside one of numbers from outside.
//--- count.mlir
func.func @main(%x: tensor<4x1000xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %n = tp.constant 1.0 : f64 -> tensor<f32>
  %y = tp.map add(%x, %n) : (tensor<4x1000xf32>, tensor<f32>) -> tensor<4x1000xf32>
  %0 = tp.reduce sum %y dims [1] : tensor<4x1000xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- count.equal.mlir
func.func @main(%x: tensor<4x1000xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %n = tp.constant 1000.0 : f64 -> tensor<f32>
  %s = tp.reduce sum %x dims [1] : tensor<4x1000xf32> -> tensor<4xf32>
  %0 = tp.map add(%s, %n) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- count.wrong.mlir
func.func @main(%x: tensor<4x1000xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %n = tp.constant 999.0 : f64 -> tensor<f32>
  %s = tp.reduce sum %x dims [1] : tensor<4x1000xf32> -> tensor<4xf32>
  %0 = tp.map add(%s, %n) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// What is divided by zero is infinite, and zero times that is not zero.
//--- infinite.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.001 : f64 -> tensor<f32>
  %z = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = tp.map add(%z, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = tp.map rsqrt(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map mul(%z, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- infinite.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %0 = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- infinite.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.001 : f64 -> tensor<f32>
  %z = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = tp.map mul(%z, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = tp.map rsqrt(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map mul(%z, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- infinite.wrong-root.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant -0.001 : f64 -> tensor<f32>
  %z = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = tp.map add(%z, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = tp.map rsqrt(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map mul(%z, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// 0 - 0.001 is no constant of the program, but a negative number all the same.
//--- infinite.wrong-difference.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 0.001 : f64 -> tensor<f32>
  %two = tp.constant 2.0 : f64 -> tensor<f32>
  %half = tp.map div(%n, %two) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %z = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %y = tp.map sub(%z, %half) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r = tp.map rsqrt(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map mul(%z, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- infinite.wrong-log.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %z = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = tp.map log(%z) : (tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map mul(%z, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- infinite.wrong-quotient.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %z = tp.map sub(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %r = tp.map div(%x, %z) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %0 = tp.map sub(%r, %r) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A constant that the archive stores, as an input.
//--- stored.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %k: tensor<i64> {tp.name = "k", tp.value = 3 : i64}) -> tensor<8xf32> {
  %0 = tp.map mul(%x, %k) : (tensor<8xf32>, tensor<i64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- stored.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %k: tensor<i64> {tp.name = "k", tp.value = 3 : i64}) -> tensor<8xf32> {
  %n = tp.constant 3.0 : f64 -> tensor<f64>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<f64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- stored.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %k: tensor<i64> {tp.name = "k", tp.value = 4 : i64}) -> tensor<8xf32> {
  %0 = tp.map mul(%x, %k) : (tensor<8xf32>, tensor<i64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- stored.wrong-unknown.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}, %k: tensor<i64> {tp.name = "k"}) -> tensor<8xf32> {
  %n = tp.constant 3.0 : f64 -> tensor<f64>
  %0 = tp.map mul(%x, %n) : (tensor<8xf32>, tensor<f64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Decimal numbers of few digits are what they say, however small.
//--- decimals.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 1.0e-6 : f64 -> tensor<f32>
  %0 = tp.map add(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- decimals.equal.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 5.0e-7 : f64 -> tensor<f32>
  %y = tp.map add(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map add(%y, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- decimals.equal-product.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 1.0e-12 : f64 -> tensor<f32>
  %m = tp.constant 1000000.0 : f64 -> tensor<f32>
  %p = tp.map mul(%n, %m) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %0 = tp.map add(%x, %p) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

//--- decimals.wrong.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x"}) -> tensor<8xf32> {
  %n = tp.constant 5.0e-7 : f64 -> tensor<f32>
  %m = tp.constant 5.0000001e-7 : f64 -> tensor<f32>
  %y = tp.map add(%x, %n) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %0 = tp.map add(%y, %m) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
