// Outputs whose elements are in another order are found where the user states
// that they may be sharded in any way. What nothing suggests must be stated.
// RUN: split-file %s %t
// RUN: commute verify --reference=%t/reference.mlir %t/permuted.mlir --relations=%t/any.json | FileCheck %s --check-prefix=PERMUTED
// RUN: not commute verify --reference=%t/reference.mlir %t/permuted.mlir | FileCheck %s --check-prefix=UNSTATED
// RUN: not commute verify --reference=%t/square.mlir %t/turned.mlir | FileCheck %s --check-prefix=TURNED
// RUN: commute verify --reference=%t/square.mlir %t/turned.mlir --relations=%t/turned.json \
// RUN:   | FileCheck %s --check-prefix=STATED
// RUN: commute verify --reference=%t/reference.mlir %t/flat.mlir --relations=%t/any.json | FileCheck %s --check-prefix=FLAT
// RUN: commute verify --reference=%t/reference.mlir %t/packed.mlir --relations=%t/packed.json --show-relations \
// RUN:   | FileCheck %s --check-prefix=PACKED
// RUN: not commute verify --reference=%t/parts.mlir %t/packed.mlir --relations=%t/parts.json \
// RUN:   | FileCheck %s --check-prefix=PARTS

// PERMUTED: refines on 2 ranks
// PERMUTED-NEXT: output 0 (y): shard(permute(output, [1, 0]), 0, tp)

// UNSTATED: does not refine on 2 ranks
// UNSTATED-NEXT: difference: output 0 (y) is shard(permute(output, [1, 0]), 0, tp) of the reference's output, and nothing states that
// UNSTATED: fix: return the reference's output, or state "outputs": {"0": "shard(permute(output, [1, 0]), 0, tp)"}

// TURNED: does not refine on 1 rank
// TURNED: note: output 0 (y) is permute(output, [1, 0]): state this in "outputs" if it is meant
// STATED: refines on 1 rank

// FLAT: refines on 2 ranks
// FLAT-NEXT: output 0 (y): shard(reshape(output, [48]), 0, tp)

// PACKED: refines on 2 ranks
// PACKED-NEXT: output 0 (y): cat([shard(split(output, [6, 6], 1)[0], 1), shard(split(output, [6, 6], 1)[1], 1)], 1)
// PACKED: p: cat([shard(split(output, [6, 6], 1)[0], 1), shard(split(output, [6, 6], 1)[1], 1)], 1) of y

// PARTS: does not refine on 2 ranks
// PARTS: note: output 0 (y) is cat([shard(split(output, [6, 6], 1)[0], 1, tp), shard(split(output, [6, 6], 1)[1], 1, tp)], 1): state this in "outputs" if it is meant

//--- reference.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x12xf32> {tp.name = "w"}) -> tensor<4x12xf32> {
  %y = tp.matmul %x, %w {tp.names = ["y"]} : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32> loc("y")
  return %y : tensor<4x12xf32>
}
//--- any.json
{"version": 1, "outputs": {"0": "any"}}
//--- permuted.mlir
module attributes {tp.groups = [#tp.group<"tp", [0, 1]>]} {
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x6xf32> {tp.name = "w"}) -> tensor<6x4xf32> {
  %p = tp.matmul %x, %w {tp.names = ["p"]} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("p")
  %q = tp.permute %p [1, 0] {tp.names = ["q"]} : tensor<4x6xf32> -> tensor<6x4xf32> loc("q")
  return %q : tensor<6x4xf32>
}
}
//--- flat.mlir
module attributes {tp.groups = [#tp.group<"tp", [0, 1]>]} {
func.func @main(%x: tensor<2x8xf32> {tp.name = "x"}, %w: tensor<8x12xf32> {tp.name = "w"}) -> tensor<24xf32> {
  %p = tp.matmul %x, %w {tp.names = ["p"]} : (tensor<2x8xf32>, tensor<8x12xf32>) -> tensor<2x12xf32> loc("p")
  %q = tp.reshape %p {tp.names = ["q"]} : tensor<2x12xf32> -> tensor<24xf32> loc("q")
  return %q : tensor<24xf32>
}
}
//--- packed.mlir
module attributes {tp.groups = [#tp.group<"tp", [0, 1]>]} {
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w {tp.names = ["p"]} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("p")
  return %p : tensor<4x6xf32>
}
}
//--- packed.json
{"version": 1, "inputs": {"w": "cat([shard(split(w, [6, 6], 1)[0], 1), shard(split(w, [6, 6], 1)[1], 1)], 1)"},
 "outputs": {"0": "any"}}
//--- parts.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %a: tensor<8x6xf32> {tp.name = "a"}, %b: tensor<8x6xf32> {tp.name = "b"}) -> tensor<4x12xf32> {
  %w = tp.concat %a, %b dim 1 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x12xf32>
  %y = tp.matmul %x, %w {tp.names = ["y"]} : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32> loc("y")
  return %y : tensor<4x12xf32>
}
//--- parts.json
{"version": 1, "inputs": {"w": "cat([shard(a, 1), shard(b, 1)], 1)"}}
//--- square.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x4xf32> {tp.name = "w"}) -> tensor<4x4xf32> {
  %y = tp.matmul %x, %w {tp.names = ["y"]} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("y")
  return %y : tensor<4x4xf32>
}
//--- turned.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x4xf32> {tp.name = "w"}) -> tensor<4x4xf32> {
  %p = tp.matmul %x, %w {tp.names = ["p"]} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("p")
  %q = tp.permute %p [1, 0] {tp.names = ["q"]} : tensor<4x4xf32> -> tensor<4x4xf32> loc("q")
  return %q : tensor<4x4xf32>
}
//--- turned.json
{"version": 1, "outputs": {"0": "permute(output, [1, 0])"}}
