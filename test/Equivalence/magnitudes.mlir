// The magnitude of x is the maximum of x and -x, and a minimum is the opposite of a
// maximum. What is divided by the largest magnitude is between -1 and 1.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- largest.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %a = tp.map abs(%x) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %0 = tp.reduce max %a dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- largest.equal.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %h = tp.reduce max %x dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  %l = tp.reduce min %x dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  %n = tp.map neg(%l) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = tp.map maximum(%h, %n) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- largest.equal-both.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %h = tp.reduce max %x dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  %l = tp.reduce min %x dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  %a = tp.map abs(%h) : (tensor<4xf32>) -> tensor<4xf32>
  %b = tp.map abs(%l) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = tp.map maximum(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- largest.wrong.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %h = tp.reduce max %x dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  %l = tp.reduce min %x dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  %0 = tp.map maximum(%h, %l) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- largest.wrong-smallest.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %h = tp.reduce max %x dims [1] : tensor<4x10xf32> -> tensor<4xf32>
  %0 = tp.map abs(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A magnitude is not below zero, and has itself for magnitude.
//--- again.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.map abs(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- again.equal.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %n = tp.map neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %a = tp.map abs(%n) : (tensor<4xf32>) -> tensor<4xf32>
  %b = tp.map abs(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = tp.map relu(%b) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- again.equal-choice.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %n = tp.map neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %c = tp.map less(%x, %z) : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %0 = tp.map select(%c, %n, %x) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- again.wrong.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.map relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The maximum of x and of a minimum of x and others is x.
//--- absorbed.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %y: tensor<4xf32> {tp.name = "y"}, %z: tensor<4xf32> {tp.name = "z"}) -> tensor<4xf32> {
  %0 = tp.map maximum(%x, %z) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- absorbed.equal.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %y: tensor<4xf32> {tp.name = "y"}, %z: tensor<4xf32> {tp.name = "z"}) -> tensor<4xf32> {
  %m = tp.map minimum(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %a = tp.map maximum(%m, %z) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = tp.map maximum(%x, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- absorbed.wrong.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}, %y: tensor<4xf32> {tp.name = "y"}, %z: tensor<4xf32> {tp.name = "z"}) -> tensor<4xf32> {
  %m = tp.map maximum(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = tp.map maximum(%m, %z) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The clamp of a quantizer that scales by its own maximum.
//--- quantizer.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %n = tp.constant 448.0 : f64 -> tensor<f32>
  %e = tp.constant 1.0e-12 : f64 -> tensor<f32>
  %a = tp.map abs(%x) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %m = tp.reduce max %a dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %b = tp.map maximum(%m, %e) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %s = tp.map div(%n, %b) : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = tp.map mul(%x, %s) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- quantizer.equal.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %n = tp.constant 448.0 : f64 -> tensor<f32>
  %l = tp.constant -448.0 : f64 -> tensor<f32>
  %e = tp.constant 1.0e-12 : f64 -> tensor<f32>
  %a = tp.map abs(%x) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %m = tp.reduce max %a dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %b = tp.map maximum(%m, %e) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %s = tp.map div(%b, %n) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %q = tp.map div(%x, %s) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %c = tp.map maximum(%q, %l) : (tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  %0 = tp.map minimum(%c, %n) : (tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- quantizer.wrong.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %n = tp.constant 448.0 : f64 -> tensor<f32>
  %h = tp.constant 447.0 : f64 -> tensor<f32>
  %l = tp.constant -448.0 : f64 -> tensor<f32>
  %e = tp.constant 1.0e-12 : f64 -> tensor<f32>
  %a = tp.map abs(%x) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %m = tp.reduce max %a dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %b = tp.map maximum(%m, %e) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %s = tp.map div(%b, %n) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %q = tp.map div(%x, %s) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %c = tp.map maximum(%q, %l) : (tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  %0 = tp.map minimum(%c, %h) : (tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// The largest element bounds no magnitude.
//--- quantizer.wrong-maximum.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %n = tp.constant 448.0 : f64 -> tensor<f32>
  %l = tp.constant -448.0 : f64 -> tensor<f32>
  %e = tp.constant 1.0e-12 : f64 -> tensor<f32>
  %m = tp.reduce max %x dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %b = tp.map maximum(%m, %e) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %s = tp.map div(%b, %n) : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %q = tp.map div(%x, %s) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %c = tp.map maximum(%q, %l) : (tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  %0 = tp.map minimum(%c, %n) : (tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// Quotients by the largest element alone may be anything below 1.
//--- by-maximum.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %m = tp.reduce max %x dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %0 = tp.map div(%x, %m) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- by-maximum.wrong.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %l = tp.constant -1.0 : f64 -> tensor<f32>
  %m = tp.reduce max %x dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %q = tp.map div(%x, %m) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %0 = tp.map maximum(%q, %l) : (tensor<4x10xf32>, tensor<f32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}
