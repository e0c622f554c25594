// RUN: split-file %s %t
// RUN: commute verify --reference=%t/reference.mlir %t/good.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=GOOD
// RUN: not commute verify --reference=%t/reference.mlir %t/bad.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=BAD
// RUN: commute verify --reference=%t/reference.mlir %t/good.mlir --show-relations \
// RUN:   | FileCheck %s --check-prefix=SHOW
// RUN: not commute verify --reference=%t/good.mlir %t/good.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RANKS
// RUN: commute verify --reference=%t/alone.mlir %t/good.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=GOOD
// RUN: not commute verify --reference=%t/alone.mlir %t/bad.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=TWICE
// RUN: not commute verify %t/good.mlir %t/good.mlir --show-relations 2>&1 \
// RUN:   | FileCheck %s --check-prefix=ALONE
// RUN: not commute verify --reference=%t/reference.mlir %t/good.mlir --proof-memory=1KiB \
// RUN:   | FileCheck %s --check-prefix=BUDGET

// GOOD: refines on 2 ranks
// GOOD-NEXT: output 0 (y): replicated (required)
// GOOD-NEXT: premises:
// GOOD-NEXT: input w: shard(w, 0)
// GOOD-NEXT: input x: shard(x, 1, tp) (inferred from name and shape)

// BAD: does not refine on 2 ranks
// BAD-NEXT: difference: 'y' is 2 times the reference's 'y': it is summed over tp

// On one device, the sum and its operand are one value.
// TWICE: difference: 'y' is 2 times the reference's 'p': it is summed over tp

// SHOW: refines on 2 ranks
// SHOW: p: partial(tp) of y
// SHOW: y: replicated of y

// RANKS: the reference runs on 2 ranks; it must be the program of one device, whose process groups have one rank each
// ALONE: --relations and --show-relations belong to --reference=FILE
// BUDGET: not proven on 2 ranks: {{.*}}memory

//--- reference.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %y = tp.matmul %x, %w {tp.names = ["y"]} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("y")
  return %y : tensor<4x6xf32>
}
//--- alone.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w {tp.names = ["p"]} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> loc("p")
  %y = tp.all_reduce sum %p group <"world", [3]> {tp.names = ["y"]} : tensor<4x6xf32> -> tensor<4x6xf32> loc("y")
  return %y : tensor<4x6xf32>
}
//--- good.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %w: tensor<4x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w {tp.names = ["p"]} : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32> loc("p")
  %y = tp.all_reduce sum %p group <"tp", [0, 1]> {tp.names = ["y"]} : tensor<4x6xf32> -> tensor<4x6xf32> loc("y")
  return %y : tensor<4x6xf32>
}
//--- bad.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %w: tensor<4x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w {tp.names = ["p"]} : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32> loc("p")
  %once = tp.all_reduce sum %p group <"tp", [0, 1]> {tp.names = ["once"]} : tensor<4x6xf32> -> tensor<4x6xf32> loc("once")
  %y = tp.all_reduce sum %once group <"tp", [0, 1]> {tp.names = ["y"]} : tensor<4x6xf32> -> tensor<4x6xf32> loc("y")
  return %y : tensor<4x6xf32>
}
//--- r.json
{"version": 1, "mesh": {"tp": [[0, 1]]}, "inputs": {"w": "shard(w, 0)"}, "outputs": {"0": "replicated"}}
