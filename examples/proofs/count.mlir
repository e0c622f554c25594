// Scales x if fewer than 1500 of 4000 tokens are the token 7 (docs/methods/debugging-proofs.md).
func.func @main(%ids: tensor<4000xi64> {tp.name = "ids"}, %x: tensor<3xf32> {tp.name = "x"}) -> tensor<3xf32> {
  %n = tp.constant 7 : i64 -> tensor<i64>
  %c = tp.map equal(%ids, %n) : (tensor<4000xi64>, tensor<i64>) -> tensor<4000xi1> loc("is_seven"("model.py":3:0))
  %i = tp.cast %c : tensor<4000xi1> -> tensor<4000xi64>
  %s = tp.reduce sum %i dims [0] : tensor<4000xi64> -> tensor<i64> loc("count"("model.py":3:0))
  %m = tp.constant 1500 : i64 -> tensor<i64>
  %b = tp.map less(%s, %m) : (tensor<i64>, tensor<i64>) -> tensor<i1> loc("is_rare"("model.py":4:0))
  %r = tp.cast %b : tensor<i1> -> tensor<f32>
  %0 = tp.map mul(%r, %x) : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32> loc("scaled"("model.py":5:0))
  return %0 : tensor<3xf32>
}
