// An opaque op that takes a group, or of which nothing is known, depends on the
// rank and on the operands of all members; it is not equal to its twin.
// RUN: split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t
// RUN: not commute verify %t/group.mlir %t/group.unknown-own.mlir | FileCheck %s

// CHECK: not proven: lib.exchange ({{.*}}:4) has no description, and communicates; if it is like a known collective, add {"lib.exchange": {"same_as": "torch.ops..."}} to a vocabulary file

//--- group.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "lib.exchange"(%x) arguments "[%0, {\22name\22: \22group_name\22}]" : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// Equal only if both ranks have the same result.
//--- group.unknown-own.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "lib.exchange"(%x) arguments "[%0, {\22name\22: \22group_name\22}]" : (tensor<4xf32>) -> tensor<4xf32>
    %1 = tp.all_reduce avg %0 group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

//--- group.equal.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %r = tp.all_reduce avg %x group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    %0 = tp.call "lib.exchange"(%r) arguments "[%0, {\22name\22: \22group_name\22}]" : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

//--- group-twice.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "lib.exchange"(%x) arguments "[%0, {\22name\22: \22group_name\22}]" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "lib.exchange"(%x) arguments "[%0, {\22name\22: \22group_name\22}]" : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.map sub(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- group-twice.unknown-zero.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "lib.exchange"(%x) arguments "[%0, {\22name\22: \22group_name\22}]" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "lib.exchange"(%x) arguments "[%0, {\22name\22: \22group_name\22}]" : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.constant 0.0 : f64 -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- nothing-known.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "lib.mix"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// Equal only if both ranks have the same result.
//--- nothing-known.unknown-own.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "lib.mix"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
    %1 = tp.all_reduce avg %0 group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

//--- nothing-known.equal.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %r = tp.all_reduce avg %x group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    %0 = tp.call "lib.mix"(%r) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

//--- nothing-known-twice.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "lib.mix"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "lib.mix"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.map sub(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- nothing-known-twice.unknown-zero.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "lib.mix"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "lib.mix"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.constant 0.0 : f64 -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- stated.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "lib.mix"(%x) arguments "[%0]" {tp.effects = "none"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// Equal only if both ranks have the same result.
//--- stated.equal-own.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "lib.mix"(%x) arguments "[%0]" {tp.effects = "none"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = tp.all_reduce avg %0 group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

//--- stated.equal.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %r = tp.all_reduce avg %x group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    %0 = tp.call "lib.mix"(%r) arguments "[%0]" {tp.effects = "none"} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

//--- stated-twice.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "lib.mix"(%x) arguments "[%0]" {tp.effects = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "lib.mix"(%x) arguments "[%0]" {tp.effects = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.map sub(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- stated-twice.equal-zero.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "lib.mix"(%x) arguments "[%0]" {tp.effects = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "lib.mix"(%x) arguments "[%0]" {tp.effects = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.constant 0.0 : f64 -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- of-pytorch.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "torch.ops.aten.tril.default"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// Equal only if both ranks have the same result.
//--- of-pytorch.equal-own.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  // The operand is the same on both ranks.
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %0 = tp.call "torch.ops.aten.tril.default"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
    %1 = tp.all_reduce avg %0 group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

//--- of-pytorch.equal.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4xf32> {
    %r = tp.all_reduce avg %x group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    %0 = tp.call "torch.ops.aten.tril.default"(%r) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

//--- of-pytorch-twice.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "torch.ops.aten.tril.default"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "torch.ops.aten.tril.default"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.map sub(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

//--- of-pytorch-twice.equal-zero.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.call "torch.ops.aten.tril.default"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %1 = tp.call "torch.ops.aten.tril.default"(%x) arguments "[%0]" : (tensor<4xf32>) -> tensor<4xf32>
  %2 = tp.constant 0.0 : f64 -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

