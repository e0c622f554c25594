// A random operator has a state: each call returns another value, on every rank
// its own, and calls keep their order.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t

// Two calls, and one that is used twice.
//--- twice.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tp.map sub(%a, %b) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

//--- twice.equal.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %n = tp.map neg(%b) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tp.map add(%n, %a) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

//--- twice.wrong-zero.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tp.constant 0.0 : f64 -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

//--- twice.wrong-once.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tp.map sub(%a, %a) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

//--- twice.wrong-order.mlir
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> tensor<4x6xf32> {
  %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %b = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %0 = tp.map sub(%b, %a) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// Ranks draw their own numbers, of a replicated operand too.
//--- ranks.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4x6xf32> {
    %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    return %s : tensor<4x6xf32>
  }
}

//--- ranks.equal.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4x6xf32> {
    %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<2x6xf32>
    %g = tp.all_gather %s gather_axis 0 group <"0", [0, 1]> : tensor<2x6xf32> -> tensor<4x6xf32>
    return %g : tensor<4x6xf32>
  }
}

//--- ranks.wrong.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4x6xf32> {
    %a = tp.call "torch.ops.aten.rand_like.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = tp.map add(%a, %a) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %s : tensor<4x6xf32>
  }
}

// An operator that draws nothing returns the same for the same operands.
//--- sort.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4x6xf32> {
    %a = tp.call "torch.ops.aten.logcumsumexp.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x6xf32> -> tensor<4x6xf32>
    return %s : tensor<4x6xf32>
  }
}

//--- sort.equal.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4x6xf32> {
    %a = tp.call "torch.ops.aten.logcumsumexp.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %b = tp.call "torch.ops.aten.logcumsumexp.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = tp.map add(%a, %b) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %s : tensor<4x6xf32>
  }
}

//--- sort.wrong.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4x6xf32> {
    %a = tp.call "torch.ops.aten.logcumsumexp.default"(%x) arguments "[%0]" : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %b = tp.map exp(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = tp.map add(%a, %b) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    return %s : tensor<4x6xf32>
  }
}
