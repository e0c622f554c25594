// A program that uses a collective's result before it has waited for it has no
// defined values: it is different from every program, also from itself.
// RUN: split-file %s %t
// RUN: commute verify %t/waits.mlir %t/waits.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/waits.mlir %t/reads.mlir | FileCheck %s --check-prefix=SECOND
// RUN: not commute verify %t/reads.mlir %t/waits.mlir | FileCheck %s --check-prefix=FIRST
// RUN: not commute verify %t/reads.mlir %t/reads.mlir | FileCheck %s --check-prefixes=FIRST,SECOND
// RUN: not commute verify %t/reads.mlir %t/reads.mlir --json | FileCheck %s --check-prefix=JSON
// EQUAL: equivalent on 2 ranks
// EQUAL-NOT: wait
// FIRST: different: read before it has arrived: r (model.py:3) of the first program, by y (model.py:4)
// SECOND: different: read before it has arrived: r (model.py:3) of the second program, by y (model.py:4)
// SECOND-NEXT: first:
// SECOND-NEXT: second: y (model.py:4)
// JSON: "message": "read before it has arrived: r (model.py:3) of the first program, by y (model.py:4)"
// JSON: "verdict": "different"

// The wait is for the memory: what comes after it may use the value itself, and
// views of it, before and after the wait.
// RUN: commute verify %t/waits.mlir %t/reads-after-wait.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/waits.mlir %t/waits-for-view.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/waits.mlir %t/reads-before-wait.mlir | FileCheck %s --check-prefix=SECOND
// RUN: not commute verify %t/waits.mlir %t/reads-view.mlir | FileCheck %s --check-prefix=VIEW
// VIEW: different: read before it has arrived: r (model.py:3) of the second program, by y (model.py:4)

// A reshape that strides do not allow to be a view copies elements.
// RUN: commute verify %t/permuted.mlir %t/permuted-view.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/permuted.mlir %t/permuted-copied.mlir | FileCheck %s --check-prefix=COPIED
// COPIED: different: read before it has arrived: r of the second program, by copied

// A collective uses its operand, too.
// RUN: commute verify %t/chain.mlir %t/chain.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/chain.mlir %t/chain-unwaited.mlir | FileCheck %s --check-prefix=CHAIN
// CHAIN: different: read before it has arrived: r of the second program, by g

// The caller can wait for an output, but not in place of the program.
// RUN: commute verify %t/returns.mlir %t/returns.mlir | FileCheck %s --check-prefix=NOTE
// RUN: commute verify %t/returns.mlir %t/returns-waited.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/returns-waited.mlir %t/returns.mlir | FileCheck %s --check-prefix=RETURNED
// NOTE: equivalent on 2 ranks
// NOTE-NEXT: callers must wait for output 0: r has not arrived when the programs return
// RETURNED: different: returned before it has arrived: output 0: r of the second program

// torch.compile lets a graph wait for an input.
// RUN: commute verify %t/input.mlir %t/input.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/input.mlir %t/input-unwaited.mlir | FileCheck %s --check-prefix=INPUT
// RUN: not commute verify %t/input-unwaited.mlir %t/input.mlir | FileCheck %s --check-prefix=INPUT
// INPUT: different: read before it has arrived: x of the {{first|second}} program, by y

// Collectives that no op models need a wait like those that one does; their
// sizes can be asked for before.
// RUN: commute verify %t/opaque.mlir %t/opaque.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/opaque.mlir %t/opaque-unwaited.mlir | FileCheck %s --check-prefix=OPAQUE
// RUN: commute verify %t/out.mlir %t/out.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/out.mlir %t/out-unwaited.mlir | FileCheck %s --check-prefix=OPAQUE
// OPAQUE: different: read before it has arrived: r of the second program, by y

// Nothing is optimized that has no defined values.
// RUN: commute opt %t/waits.mlir -o %t/out.opt.mlir
// RUN: not commute opt %t/reads.mlir -o %t/reads.opt.mlir 2>&1 | FileCheck %s --check-prefix=OPT
// RUN: not commute opt %t/reads.mlir -o %t/reads.opt.mlir --no-verify 2>&1 | FileCheck %s --check-prefix=OPT
// RUN: not ls %t/reads.opt.mlir
// OPT: error: {{.*}}reads.mlir: read before it has arrived: r (model.py:3), by y (model.py:4): wait for it with wait_tensor before it is used

// A wait is kept although nothing uses its result.
// RUN: commute opt %t/used.mlir -o - --passes=split-linear --policy=always | FileCheck %s --check-prefix=USED
// RUN: commute opt %t/used.mlir -o - --passes=micro-pipeline | FileCheck %s --check-prefix=UNUSED
// RUN: commute opt %t/used-view.mlir -o - --passes=split-linear --policy=always 2>&1 | FileCheck %s --check-prefix=LEFT
// USED: %[[R:.*]] = tp.all_reduce
// USED: %[[W:.*]] = tp.wait %[[R]]
// USED: tp.map neg(%[[W]])
// USED-NOT: tp.concat
// UNUSED: %[[R:.*]] = tp.all_reduce
// UNUSED: tp.map neg(%[[R]])
// LEFT: the graph is left alone: y reads r through a view that was taken before the wait
// LEFT: tp.concat

//--- waits.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32> loc("r"("model.py":3:0))
  %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = tp.map neg(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- reads.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32> loc("r"("model.py":3:0))
  %y = tp.map neg(%r) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("y"("model.py":4:0))
  return %y : tensor<4x8xf32>
}
//--- reads-after-wait.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = tp.map neg(%r) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- reads-before-wait.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32> loc("r"("model.py":3:0))
  %y = tp.map neg(%r) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("y"("model.py":4:0))
  %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- waits-for-view.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %v = tp.reshape %r : tensor<4x8xf32> -> tensor<32xf32>
  %w = tp.wait %v : tensor<32xf32> -> tensor<32xf32>
  %z = tp.reshape %v : tensor<32xf32> -> tensor<4x8xf32>
  %y = tp.map neg(%z) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- reads-view.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32> loc("r"("model.py":3:0))
  %v = tp.slice %r dim 0 start 0 step 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = tp.map neg(%v) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("y"("model.py":4:0))
  %w = tp.wait %v : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- permuted.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<32xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
  %p = tp.permute %w [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  %y = tp.reshape %p : tensor<8x4xf32, #tp.layout<strides = [1, 8]>> -> tensor<32xf32>
  return %y : tensor<32xf32>
}
//--- permuted-view.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<32xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %p = tp.permute %r [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  %w = tp.wait %p : tensor<8x4xf32, #tp.layout<strides = [1, 8]>> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  %y = tp.reshape %w : tensor<8x4xf32, #tp.layout<strides = [1, 8]>> -> tensor<32xf32>
  return %y : tensor<32xf32>
}
//--- permuted-copied.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<32xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32> loc("r")
  %p = tp.permute %r [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  %c = tp.reshape %p : tensor<8x4xf32, #tp.layout<strides = [1, 8]>> -> tensor<32xf32> loc("copied")
  %w = tp.wait %c : tensor<32xf32> -> tensor<32xf32>
  return %w : tensor<32xf32>
}
//--- chain.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<2x8xf32>
  %w = tp.wait %r : tensor<2x8xf32> -> tensor<2x8xf32>
  %g = tp.all_gather %w gather_axis 0 group <"0", [0, 1]> async : tensor<2x8xf32> -> tensor<4x8xf32>
  %y = tp.wait %g : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- chain-unwaited.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
  %r = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<2x8xf32> loc("r")
  %g = tp.all_gather %r gather_axis 0 group <"0", [0, 1]> async : tensor<2x8xf32> -> tensor<4x8xf32> loc("g")
  %y = tp.wait %g : tensor<4x8xf32> -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
//--- returns.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<32xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32> loc("r")
  %v = tp.reshape %r : tensor<4x8xf32> -> tensor<32xf32>
  return %v : tensor<32xf32>
}
//--- returns-waited.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<32xf32> {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %v = tp.reshape %r : tensor<4x8xf32> -> tensor<32xf32>
  %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
  return %v : tensor<32xf32>
}
//--- input.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> tensor<4x8xf32> {
    %w = tp.wait %x : tensor<4x8xf32> -> tensor<4x8xf32>
    %y = tp.map neg(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}
//--- input-unwaited.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x8xf32> {tp.name = "x"} loc("x")) -> tensor<4x8xf32> {
    %y = tp.map neg(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("y")
    return %y : tensor<4x8xf32>
  }
}
//--- opaque.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> (tensor<4x8xf32>, index) {
    %r = tp.call "torch.ops._c10d_functional.all_to_all_single.default"(%x) arguments "[%0]" fresh : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %s = tp.call "torch.ops.aten.sym_size.int"(%r) arguments "[%0, 0]" : (tensor<4x8xf32>) -> index
    %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
    %y = tp.map neg(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y, %s : tensor<4x8xf32>, index
  }
}
//--- opaque-unwaited.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}) -> (tensor<4x8xf32>, index) {
    %r = tp.call "torch.ops._c10d_functional.all_to_all_single.default"(%x) arguments "[%0]" fresh : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("r")
    %s = tp.call "torch.ops.aten.sym_size.int"(%r) arguments "[%0, 0]" : (tensor<4x8xf32>) -> index
    %y = tp.map neg(%r) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("y")
    return %y, %s : tensor<4x8xf32>, index
  }
}
//--- out.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<2x8xf32> {tp.name = "x"}, %out: tensor<4x8xf32> {tp.name = "out"}) -> tensor<4x8xf32> {
    %r = tp.call "torch.ops._c10d_functional.all_gather_into_tensor_out.default"(%x, %out) arguments "[%0, %1]" mutates [1] : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %w = tp.call "torch.ops._c10d_functional.wait_tensor.default"(%r) arguments "[%0]" : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = tp.map neg(%out) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}
//--- out-unwaited.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<2x8xf32> {tp.name = "x"}, %out: tensor<4x8xf32> {tp.name = "out"}) -> tensor<4x8xf32> {
    %r = tp.call "torch.ops._c10d_functional.all_gather_into_tensor_out.default"(%x, %out) arguments "[%0, %1]" mutates [1] : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("r")
    %y = tp.map neg(%out) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("y")
    %w = tp.call "torch.ops._c10d_functional.wait_tensor.default"(%r) arguments "[%0]" : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %y : tensor<4x8xf32>
  }
}
//--- used.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %a: tensor<4x8xf32> {tp.name = "a"}, %b: tensor<16x6xf32> {tp.name = "b"}) -> (tensor<4x8xf32>, tensor<4x6xf32>) {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32>
  %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = tp.map neg(%r) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = tp.concat %a, %x dim 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %m = tp.matmul %c, %b : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  return %y, %m : tensor<4x8xf32>, tensor<4x6xf32>
}
//--- used-view.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"}, %a: tensor<4x8xf32> {tp.name = "a"}, %b: tensor<16x6xf32> {tp.name = "b"}) -> (tensor<32xf32>, tensor<4x6xf32>) {
  %r = tp.all_reduce sum %x group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<4x8xf32> loc("r")
  %v = tp.reshape %r : tensor<4x8xf32> -> tensor<32xf32>
  %w = tp.wait %r : tensor<4x8xf32> -> tensor<4x8xf32>
  %y = tp.map neg(%v) : (tensor<32xf32>) -> tensor<32xf32> loc("y")
  %c = tp.concat %a, %x dim 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %m = tp.matmul %c, %b : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  return %y, %m : tensor<32xf32>, tensor<4x6xf32>
}
