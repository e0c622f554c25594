// The exponential of a sum with a logarithm is a product: a gradient that computes
// the softmax from a log_softmax, and one that divides. So is that of a difference from
// a maximum: attention in two blocks rescales what it has summed when it meets a larger
// maximum.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- softmax.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %0 = tp.rowwise log_softmax %x dim 1 : tensor<4x10xf32> -> tensor<4x10xf32>
  %1 = tp.map exp(%0) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- softmax.equal.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %0 = tp.rowwise softmax %x dim 1 : tensor<4x10xf32> -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- softmax.equal-sum.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %m = tp.reduce max %x dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %d = tp.map sub(%x, %m) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %e = tp.map exp(%d) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %s = tp.reduce sum %e dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %l = tp.map log(%s) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %a = tp.map add(%m, %l) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %b = tp.map sub(%x, %a) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %0 = tp.map exp(%b) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- softmax.wrong.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %0 = tp.rowwise log_softmax %x dim 0 : tensor<4x10xf32> -> tensor<4x10xf32>
  %1 = tp.map exp(%0) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

//--- softmax.wrong-sign.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %m = tp.reduce max %x dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %d = tp.map sub(%x, %m) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %e = tp.map exp(%d) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %s = tp.reduce sum %e dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %l = tp.map log(%s) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %b = tp.map add(%d, %l) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %0 = tp.map exp(%b) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- blocks.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}, %v: tensor<10x3xf32> {tp.name = "v"}) -> tensor<4x3xf32> {
  %s = tp.rowwise softmax %x dim 1 : tensor<4x10xf32> -> tensor<4x10xf32>
  %0 = tp.matmul %s, %v : (tensor<4x10xf32>, tensor<10x3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

//--- blocks.equal.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}, %v: tensor<10x3xf32> {tp.name = "v"}) -> tensor<4x3xf32> {
  %x0 = tp.slice %x dim 1 start 0 step 1 : tensor<4x10xf32> -> tensor<4x6xf32>
  %x1 = tp.slice %x dim 1 start 6 step 1 : tensor<4x10xf32> -> tensor<4x4xf32>
  %v0 = tp.slice %v dim 0 start 0 step 1 : tensor<10x3xf32> -> tensor<6x3xf32>
  %v1 = tp.slice %v dim 0 start 6 step 1 : tensor<10x3xf32> -> tensor<4x3xf32>
  %m0 = tp.reduce max %x0 dims [1] keep_dims : tensor<4x6xf32> -> tensor<4x1xf32>
  %d0 = tp.map sub(%x0, %m0) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %e0 = tp.map exp(%d0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %l0 = tp.reduce sum %e0 dims [1] keep_dims : tensor<4x6xf32> -> tensor<4x1xf32>
  %o0 = tp.matmul %e0, %v0 : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %own = tp.reduce max %x1 dims [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %m1 = tp.map maximum(%m0, %own) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %c = tp.map sub(%m0, %m1) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %r = tp.map exp(%c) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  // The difference, by adding the negation.
  %n1 = tp.map neg(%m1) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %d1 = tp.map add(%x1, %n1) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %e1 = tp.map exp(%d1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %l1 = tp.reduce sum %e1 dims [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %o1 = tp.matmul %e1, %v1 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %lr = tp.map mul(%l0, %r) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %l = tp.map add(%lr, %l1) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %or = tp.map mul(%o0, %r) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %o = tp.map add(%or, %o1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %0 = tp.map div(%o, %l) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

//--- blocks.wrong.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}, %v: tensor<10x3xf32> {tp.name = "v"}) -> tensor<4x3xf32> {
  %x0 = tp.slice %x dim 1 start 0 step 1 : tensor<4x10xf32> -> tensor<4x6xf32>
  %x1 = tp.slice %x dim 1 start 6 step 1 : tensor<4x10xf32> -> tensor<4x4xf32>
  %v0 = tp.slice %v dim 0 start 0 step 1 : tensor<10x3xf32> -> tensor<6x3xf32>
  %v1 = tp.slice %v dim 0 start 6 step 1 : tensor<10x3xf32> -> tensor<4x3xf32>
  %m0 = tp.reduce max %x0 dims [1] keep_dims : tensor<4x6xf32> -> tensor<4x1xf32>
  %d0 = tp.map sub(%x0, %m0) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %e0 = tp.map exp(%d0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %l0 = tp.reduce sum %e0 dims [1] keep_dims : tensor<4x6xf32> -> tensor<4x1xf32>
  %o0 = tp.matmul %e0, %v0 : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %own = tp.reduce max %x1 dims [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %m1 = tp.map maximum(%m0, %own) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %c = tp.map sub(%m1, %m0) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %r = tp.map exp(%c) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  // The difference, by adding the negation.
  %n1 = tp.map neg(%m1) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %d1 = tp.map add(%x1, %n1) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %e1 = tp.map exp(%d1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %l1 = tp.reduce sum %e1 dims [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %o1 = tp.matmul %e1, %v1 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %lr = tp.map mul(%l0, %r) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %l = tp.map add(%lr, %l1) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %or = tp.map mul(%o0, %r) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %o = tp.map add(%or, %o1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %0 = tp.map div(%o, %l) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

//--- blocks.wrong-maximum.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}, %v: tensor<10x3xf32> {tp.name = "v"}) -> tensor<4x3xf32> {
  %x0 = tp.slice %x dim 1 start 0 step 1 : tensor<4x10xf32> -> tensor<4x6xf32>
  %x1 = tp.slice %x dim 1 start 6 step 1 : tensor<4x10xf32> -> tensor<4x4xf32>
  %v0 = tp.slice %v dim 0 start 0 step 1 : tensor<10x3xf32> -> tensor<6x3xf32>
  %v1 = tp.slice %v dim 0 start 6 step 1 : tensor<10x3xf32> -> tensor<4x3xf32>
  %m0 = tp.reduce max %x0 dims [1] keep_dims : tensor<4x6xf32> -> tensor<4x1xf32>
  %d0 = tp.map sub(%x0, %m0) : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %e0 = tp.map exp(%d0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %l0 = tp.reduce sum %e0 dims [1] keep_dims : tensor<4x6xf32> -> tensor<4x1xf32>
  %o0 = tp.matmul %e0, %v0 : (tensor<4x6xf32>, tensor<6x3xf32>) -> tensor<4x3xf32>
  %own = tp.reduce max %x1 dims [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %m1 = tp.map maximum(%m0, %own) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %c = tp.map sub(%m0, %m1) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %r = tp.map exp(%c) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  // The difference, by adding the negation.
  %n1 = tp.map neg(%m1) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %n0 = tp.map neg(%own) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %d1 = tp.map add(%x1, %n0) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %e1 = tp.map exp(%d1) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %l1 = tp.reduce sum %e1 dims [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %o1 = tp.matmul %e1, %v1 : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %lr = tp.map mul(%l0, %r) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %l = tp.map add(%lr, %l1) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %or = tp.map mul(%o0, %r) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  %o = tp.map add(%or, %o1) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %0 = tp.map div(%o, %l) : (tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

//--- masked.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4x4xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4xi64>
  %r = tp.reshape %i : tensor<4xi64> -> tensor<4x1xi64>
  %c = tp.map less_equal(%i, %r) : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
  %f = tp.constant 0xFFF0000000000000 : f64 -> tensor<f32>
  %w = tp.map select(%c, %x, %f) : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %0 = tp.rowwise softmax %w dim 1 : tensor<4x4xf32> -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

//--- masked.equal.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}) -> tensor<4x4xf32> {
  %i = tp.iota 0 : i64 step 1 : i64 -> tensor<4xi64>
  %r = tp.reshape %i : tensor<4xi64> -> tensor<4x1xi64>
  %c = tp.map less_equal(%i, %r) : (tensor<4xi64>, tensor<4x1xi64>) -> tensor<4x4xi1>
  %t = tp.cast %c : tensor<4x4xi1> -> tensor<4x4xf32>
  %e = tp.map exp(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %w = tp.map mul(%e, %t) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = tp.reduce sum %w dims [1] keep_dims : tensor<4x4xf32> -> tensor<4x1xf32>
  %0 = tp.map div(%w, %s) : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// The logarithm of a sum of exponentials does not depend on the maximum that was
// subtracted before, whichever it is.
//--- shift.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %0 = tp.rowwise log_softmax %x dim 1 : tensor<4x10xf32> -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- shift.equal.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %e = tp.map exp(%x) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %s = tp.reduce sum %e dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %l = tp.map log(%s) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = tp.map sub(%x, %l) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// The maximum of all rows.
//--- shift.equal-maximum.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %m = tp.reduce max %x dims [0, 1] keep_dims : tensor<4x10xf32> -> tensor<1x1xf32>
  %d = tp.map sub(%x, %m) : (tensor<4x10xf32>, tensor<1x1xf32>) -> tensor<4x10xf32>
  %e = tp.map exp(%d) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %s = tp.reduce sum %e dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %l = tp.map log(%s) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = tp.map sub(%d, %l) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// Two blocks, the sums of which are rescaled to the larger maximum.
//--- shift.equal-blocks.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %a = tp.slice %x dim 1 start 0 step 1 : tensor<4x10xf32> -> tensor<4x5xf32, #tp.layout<strides = [10, 1]>>
  %b = tp.slice %x dim 1 start 5 step 1 : tensor<4x10xf32> -> tensor<4x5xf32, #tp.layout<strides = [10, 1]>>
  %ma = tp.reduce max %a dims [1] keep_dims : tensor<4x5xf32, #tp.layout<strides = [10, 1]>> -> tensor<4x1xf32>
  %mb = tp.reduce max %b dims [1] keep_dims : tensor<4x5xf32, #tp.layout<strides = [10, 1]>> -> tensor<4x1xf32>
  %m = tp.map maximum(%ma, %mb) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %da = tp.map sub(%a, %ma) : (tensor<4x5xf32, #tp.layout<strides = [10, 1]>>, tensor<4x1xf32>) -> tensor<4x5xf32>
  %db = tp.map sub(%b, %mb) : (tensor<4x5xf32, #tp.layout<strides = [10, 1]>>, tensor<4x1xf32>) -> tensor<4x5xf32>
  %ea = tp.map exp(%da) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %eb = tp.map exp(%db) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %sa = tp.reduce sum %ea dims [1] keep_dims : tensor<4x5xf32> -> tensor<4x1xf32>
  %sb = tp.reduce sum %eb dims [1] keep_dims : tensor<4x5xf32> -> tensor<4x1xf32>
  %ra = tp.map sub(%ma, %m) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %rb = tp.map sub(%mb, %m) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %fa = tp.map exp(%ra) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %fb = tp.map exp(%rb) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %pa = tp.map mul(%sa, %fa) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %pb = tp.map mul(%sb, %fb) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %s = tp.map add(%pa, %pb) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %l = tp.map log(%s) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %t = tp.map add(%m, %l) : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = tp.map sub(%x, %t) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

//--- shift.wrong.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %m = tp.reduce max %x dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %d = tp.map sub(%x, %m) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  %e = tp.map exp(%d) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %s = tp.reduce sum %e dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %l = tp.map log(%s) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = tp.map sub(%x, %l) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}

// Each element minus another maximum.
//--- shift.wrong-maximum.mlir
func.func @main(%x: tensor<4x10xf32> {tp.name = "x"}) -> tensor<4x10xf32> {
  %m = tp.reduce max %x dims [0] keep_dims : tensor<4x10xf32> -> tensor<1x10xf32>
  %d = tp.map sub(%x, %m) : (tensor<4x10xf32>, tensor<1x10xf32>) -> tensor<4x10xf32>
  %e = tp.map exp(%d) : (tensor<4x10xf32>) -> tensor<4x10xf32>
  %s = tp.reduce sum %e dims [1] keep_dims : tensor<4x10xf32> -> tensor<4x1xf32>
  %l = tp.map log(%s) : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = tp.map sub(%d, %l) : (tensor<4x10xf32>, tensor<4x1xf32>) -> tensor<4x10xf32>
  return %0 : tensor<4x10xf32>
}
