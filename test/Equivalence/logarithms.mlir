// The exponential of a sum with a logarithm is a product: a gradient that computes
// the softmax from a log_softmax, and one that divides.
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
