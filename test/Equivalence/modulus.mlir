// Programs made for one modulus of the field: 2^61 is e modulo the prime
// 2^61 - e. Rounds draw their moduli, so that such a pair differs in some round.
// RUN: rm -rf %t && split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t
// RUN: for seed in 1 2 3 4 5 6 7 8; do \
// RUN:   for made in wrong-772171 wrong-895131; do \
// RUN:     not commute verify --seed=$seed %t/scaled.mlir %t/scaled.$made.mlir || exit 1; \
// RUN:   done; \
// RUN: done

// x 2^61, by numbers that are elements of the field.
//--- scaled.mlir
func.func @main(%x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %a = tp.constant 1048576.0 : f32 -> tensor<f32>
  %b = tp.constant 2097152.0 : f32 -> tensor<f32>
  %0 = tp.map mul(%x, %a) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = tp.map mul(%0, %a) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %2 = tp.map mul(%1, %b) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

//--- scaled.equal-in-another-order.mlir
func.func @main(%x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %a = tp.constant 1048576.0 : f32 -> tensor<f32>
  %b = tp.constant 2097152.0 : f32 -> tensor<f32>
  %0 = tp.map mul(%x, %b) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = tp.map mul(%a, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = tp.map mul(%0, %1) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %2 : tensor<2xf32>
}

//--- scaled.wrong-772171.mlir
func.func @main(%x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %e = tp.constant 772171.0 : f32 -> tensor<f32>
  %0 = tp.map mul(%x, %e) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

//--- scaled.wrong-895131.mlir
func.func @main(%x: tensor<2xf32> {tp.name = "x"}) -> tensor<2xf32> {
  %e = tp.constant 895131.0 : f32 -> tensor<f32>
  %0 = tp.map mul(%x, %e) : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
