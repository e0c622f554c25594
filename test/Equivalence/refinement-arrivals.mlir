// Ranks that use a collective's result before they have waited for it do not
// refine anything, although their ops would compute the right values.
// RUN: split-file %s %t
// RUN: commute verify --reference=%t/reference.mlir %t/waits.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=GOOD
// RUN: not commute verify --reference=%t/reference.mlir %t/reads.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=READS
// RUN: not commute verify --reference=%t/reference.mlir %t/reads.mlir --relations=%t/r.json --json \
// RUN:   | FileCheck %s --check-prefix=JSON
// RUN: not commute verify --reference=%t/reference.mlir %t/waits.mlir %t/reads.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=RANK
// RUN: not commute verify --reference=%t/reference.mlir %t/returns.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=RETURNS
// RUN: not commute verify --reference=%t/alone.mlir %t/waits.mlir --relations=%t/r.json \
// RUN:   | FileCheck %s --check-prefix=REFERENCE

// GOOD: refines on 2 ranks
// READS: does not refine on 2 ranks
// READS-NEXT: difference: read before it has arrived: r (model.py:3), by y (model.py:4)
// READS-NEXT: at y (model.py:4)
// READS-NEXT: fix: wait for it with wait_tensor before it is used
// READS-NOT: difference
// JSON: "holds": false
// RANK: difference: read before it has arrived: r (model.py:3) of rank 1, by y (model.py:4)
// RETURNS: difference: returned before it has arrived: output 0: r
// REFERENCE: difference: read before it has arrived: r (one.py:3) of the reference, by y (one.py:4)

//--- reference.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %y = tp.map neg(%p) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
//--- alone.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %w: tensor<8x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %r = tp.all_reduce sum %p group <"world", [3]> async : tensor<4x6xf32> -> tensor<4x6xf32> loc("r"("one.py":3:0))
  %y = tp.map neg(%r) : (tensor<4x6xf32>) -> tensor<4x6xf32> loc("y"("one.py":4:0))
  return %y : tensor<4x6xf32>
}
//--- waits.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %w: tensor<4x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = tp.all_reduce sum %p group <"tp", [0, 1]> async : tensor<4x6xf32> -> tensor<4x6xf32>
  %d = tp.wait %r : tensor<4x6xf32> -> tensor<4x6xf32>
  %y = tp.map neg(%d) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
//--- reads.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %w: tensor<4x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = tp.all_reduce sum %p group <"tp", [0, 1]> async : tensor<4x6xf32> -> tensor<4x6xf32> loc("r"("model.py":3:0))
  %y = tp.map neg(%r) : (tensor<4x6xf32>) -> tensor<4x6xf32> loc("y"("model.py":4:0))
  return %y : tensor<4x6xf32>
}
//--- returns.mlir
func.func @main(%x: tensor<4x4xf32> {tp.name = "x"}, %w: tensor<4x6xf32> {tp.name = "w"}) -> tensor<4x6xf32> {
  %p = tp.matmul %x, %w : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %n = tp.map neg(%p) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %r = tp.all_reduce sum %n group <"tp", [0, 1]> async : tensor<4x6xf32> -> tensor<4x6xf32> loc("r")
  return %r : tensor<4x6xf32>
}
//--- r.json
{"version": 1, "mesh": {"tp": [[0, 1]]}, "inputs": {"x": "shard(x, 1)", "w": "shard(w, 0)"}, "outputs": {"0": "replicated"}}
