// Orders that follow from others: of an increasing function of all elements of a row, of
// the opposite elements, and of maxima of parts.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- chosen.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x2xi64> {
  %two, %order = tp.sort %x dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- chosen.equal.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x2xi64> {
  %p = tp.rowwise softmax %x dim 1 : tensor<6x8xf32> -> tensor<6x8xf32>
  %two, %order = tp.sort %p dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- chosen.equal-sigmoid.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x2xi64> {
  %p = tp.map sigmoid(%x) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %two, %order = tp.sort %p dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

// Each element is divided by another number.
//--- chosen.wrong.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x2xi64> {
  %p = tp.rowwise softmax %x dim 0 : tensor<6x8xf32> -> tensor<6x8xf32>
  %two, %order = tp.sort %p dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- chosen.wrong-cosine.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x2xi64> {
  %p = tp.map cos(%x) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %two, %order = tp.sort %p dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

// A factor that may be negative.
//--- chosen.wrong-scale.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x2xi64> {
  %e = tp.map exp(%x) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %m = tp.reduce max %x dims [1] keep_dims : tensor<6x8xf32> -> tensor<6x1xf32>
  %p = tp.map mul(%e, %m) : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %two, %order = tp.sort %p dim 1 descending algorithm "topk" first 2 : tensor<6x8xf32> -> tensor<6x2xf32>, tensor<6x2xi64>
  return %order : tensor<6x2xi64>
}

//--- opposite.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x8xi64> {
  %values, %order = tp.sort %x dim 1 descending : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %order : tensor<6x8xi64>
}

//--- opposite.equal.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x8xi64> {
  %n = tp.map neg(%x) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %values, %order = tp.sort %n dim 1 : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %order : tensor<6x8xi64>
}

//--- opposite.wrong.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x8xi64> {
  %values, %order = tp.sort %x dim 1 : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %order : tensor<6x8xi64>
}

// The largest element is what stands at its index, and the prover knows that of drawn
// orders alone.
//--- largest.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x1xf32> {
  %m = tp.reduce max %x dims [1] keep_dims : tensor<6x8xf32> -> tensor<6x1xf32>
  return %m : tensor<6x1xf32>
}

//--- largest.unknown.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x1xf32> {
  %values, %order = tp.sort %x dim 1 descending first 1 : tensor<6x8xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %0 = tp.take_along %x, %order dim 1 : (tensor<6x8xf32>, tensor<6x1xi64>) -> tensor<6x1xf32>
  return %0 : tensor<6x1xf32>
}

//--- largest.wrong.mlir
func.func @main(%x: tensor<6x8xf32> {tp.name = "x"}) -> tensor<6x1xf32> {
  %values, %order = tp.sort %x dim 1 first 1 : tensor<6x8xf32> -> tensor<6x1xf32>, tensor<6x1xi64>
  %0 = tp.take_along %x, %order dim 1 : (tensor<6x8xf32>, tensor<6x1xi64>) -> tensor<6x1xf32>
  return %0 : tensor<6x1xf32>
}
