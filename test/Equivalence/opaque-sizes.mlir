// The size of what an opaque operator reads and returns does not matter: it is a
// function of what it reads, whatever the indices.
// RUN: rm -rf %t && split-file %s %t
// RUN: sh %S/Inputs/judge.sh %t --proof-time=5s --proof-memory=16MiB
// RUN: commute verify %t/mask.mlir %t/mask.equal.mlir --whole --proof-time=5s --proof-memory=16MiB --show-sizes | FileCheck %s

// CHECK: equivalent on 2 ranks

//--- mask.mlir
!x = tensor<1x131072x64xf32>
!h = tensor<1x65536x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !x {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %seed: tensor<8xf32> {tp.name = "seed", tp.placements = {"0" = #tp.placement<replicated>}}) -> !x {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : !x -> !x
    %m = tp.call "torch.ops.library.make_mask.default"(%seed) arguments "[%0]" : (tensor<8xf32>) -> tensor<131072x131072xf32>
    %1 = tp.call "torch.ops.library.attention.default"(%0, %m) arguments "[%0, %1]" : (!x, tensor<131072x131072xf32>) -> !x
    %2 = tp.map silu(%1) : (!x) -> !x
    return %2 : !x
  }
}

//--- mask.equal.mlir
!x = tensor<1x131072x64xf32>
!h = tensor<1x65536x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !x {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %seed: tensor<8xf32> {tp.name = "seed", tp.placements = {"0" = #tp.placement<replicated>}}) -> !x {
    %s = tp.reduce_scatter sum %x scatter_axis 1 group <"0", [0, 1]> : !x -> !h
    %0 = tp.all_gather %s gather_axis 1 group <"0", [0, 1]> : !h -> !x
    %m = tp.call "torch.ops.library.make_mask.default"(%seed) arguments "[%0]" : (tensor<8xf32>) -> tensor<131072x131072xf32>
    %1 = tp.call "torch.ops.library.attention.default"(%0, %m) arguments "[%0, %1]" : (!x, tensor<131072x131072xf32>) -> !x
    %2 = tp.map silu(%1) : (!x) -> !x
    return %2 : !x
  }
}

//--- mask.unknown.mlir
!x = tensor<1x131072x64xf32>
!h = tensor<1x65536x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !x {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %seed: tensor<8xf32> {tp.name = "seed", tp.placements = {"0" = #tp.placement<replicated>}}) -> !x {
    %s = tp.reduce_scatter avg %x scatter_axis 1 group <"0", [0, 1]> : !x -> !h
    %0 = tp.all_gather %s gather_axis 1 group <"0", [0, 1]> : !h -> !x
    %m = tp.call "torch.ops.library.make_mask.default"(%seed) arguments "[%0]" : (tensor<8xf32>) -> tensor<131072x131072xf32>
    %1 = tp.call "torch.ops.library.attention.default"(%0, %m) arguments "[%0, %1]" : (!x, tensor<131072x131072xf32>) -> !x
    %2 = tp.map silu(%1) : (!x) -> !x
    return %2 : !x
  }
}

// One row of what it reads is another one. Nobody knows whether that matters.
//--- mask.unknown-row.mlir
!x = tensor<1x131072x64xf32>
!h = tensor<1x65536x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !x {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %seed: tensor<8xf32> {tp.name = "seed", tp.placements = {"0" = #tp.placement<replicated>}}) -> !x {
    %r = tp.all_reduce sum %x group <"0", [0, 1]> : !x -> !x
    %a = tp.slice %r dim 1 start 0 step 1 : !x -> tensor<1x70001x64xf32>
    %b = tp.slice %r dim 1 start 70000 step 1 : !x -> tensor<1x1x64xf32>
    %c = tp.slice %r dim 1 start 70002 step 1 : !x -> tensor<1x61070x64xf32>
    %0 = tp.concat %a, %b, %c dim 1 : (tensor<1x70001x64xf32>, tensor<1x1x64xf32>, tensor<1x61070x64xf32>) -> !x
    %m = tp.call "torch.ops.library.make_mask.default"(%seed) arguments "[%0]" : (tensor<8xf32>) -> tensor<131072x131072xf32>
    %1 = tp.call "torch.ops.library.attention.default"(%0, %m) arguments "[%0, %1]" : (!x, tensor<131072x131072xf32>) -> !x
    %2 = tp.map silu(%1) : (!x) -> !x
    return %2 : !x
  }
}

// An assertion about an element type holds in the program as it is, wherever it
// stands and however often.
//--- assertion.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  tp.call "torch.ops.aten._assert_tensor_metadata.default"(%x) arguments "" reads_types : (tensor<4xf32>) -> ()
  %0 = tp.map relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- assertion.equal.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  %0 = tp.map relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  tp.call "torch.ops.aten._assert_tensor_metadata.default"(%0) arguments "" reads_types : (tensor<4xf32>) -> ()
  tp.call "torch.ops.aten._assert_tensor_metadata.default"(%x) arguments "" reads_types : (tensor<4xf32>) -> ()
  return %0 : tensor<4xf32>
}

//--- assertion.wrong.mlir
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  tp.call "torch.ops.aten._assert_tensor_metadata.default"(%x) arguments "" : (tensor<4xf32>) -> ()
  %0 = tp.map relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
