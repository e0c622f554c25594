// Gradients of an attention.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

//--- heads.mlir
func.func @main(%g: tensor<4x128x32xf32>, %q: tensor<4x128x32xf32>, %k: tensor<4x96x32xf32>, %v: tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) {
  %o, %l = tp.attention %q, %k, %v : (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x128xf32>)
  %dq, %dk, %dv = tp.attention_backward %g, %q, %k, %v, %o, %l : (tensor<4x128x32xf32>, tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>, tensor<4x128x32xf32>, tensor<4x128xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>)
  return %dq, %dk, %dv : tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>
}

//--- heads.equal.mlir
// The gradient of the values, from the scores.
func.func @main(%g: tensor<4x128x32xf32>, %q: tensor<4x128x32xf32>, %k: tensor<4x96x32xf32>, %v: tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) {
  %o, %l = tp.attention %q, %k, %v : (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x128xf32>)
  %dq, %dk, %dv0 = tp.attention_backward %g, %q, %k, %v, %o, %l : (tensor<4x128x32xf32>, tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>, tensor<4x128x32xf32>, tensor<4x128xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>)
  %p = tp.matmul %q, %k transpose_rhs : (tensor<4x128x32xf32>, tensor<4x96x32xf32>) -> tensor<4x128x96xf32>
  %scale = tp.constant 0.17677669529663687 : f64 -> tensor<f64>
  %s = tp.map mul(%p, %scale) : (tensor<4x128x96xf32>, tensor<f64>) -> tensor<4x128x96xf32>
  %c = tp.reshape %l : tensor<4x128xf32> -> tensor<4x128x1xf32>
  %d = tp.map sub(%s, %c) : (tensor<4x128x96xf32>, tensor<4x128x1xf32>) -> tensor<4x128x96xf32>
  %w = tp.map exp(%d) : (tensor<4x128x96xf32>) -> tensor<4x128x96xf32>
  %dv = tp.matmul %w, %g transpose_lhs : (tensor<4x128x96xf32>, tensor<4x128x32xf32>) -> tensor<4x96x32xf32>
  return %dq, %dk, %dv : tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>
}

//--- heads.wrong-causal.mlir
func.func @main(%g: tensor<4x128x32xf32>, %q: tensor<4x128x32xf32>, %k: tensor<4x96x32xf32>, %v: tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) {
  %o, %l = tp.attention %q, %k, %v : (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x128xf32>)
  %dq, %dk, %dv = tp.attention_backward %g, %q, %k, %v, %o, %l is_causal : (tensor<4x128x32xf32>, tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>, tensor<4x128x32xf32>, tensor<4x128xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>)
  return %dq, %dk, %dv : tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>
}

//--- heads.wrong-output.mlir
func.func @main(%g: tensor<4x128x32xf32>, %q: tensor<4x128x32xf32>, %k: tensor<4x96x32xf32>, %v: tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) {
  %o, %l = tp.attention %q, %k, %v : (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>) -> (tensor<4x128x32xf32>, tensor<4x128xf32>)
  %dq, %dk, %dv = tp.attention_backward %g, %q, %k, %v, %q, %l : (tensor<4x128x32xf32>, tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>, tensor<4x128x32xf32>, tensor<4x128xf32>) -> (tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>)
  return %dq, %dk, %dv : tensor<4x128x32xf32>, tensor<4x96x32xf32>, tensor<4x96x32xf32>
}
