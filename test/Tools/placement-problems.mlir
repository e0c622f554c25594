// What does not fit the placements is listed, with its place in the source.
// RUN: commute show %s | FileCheck %s
// RUN: commute show %s --json | FileCheck %s --check-prefix=JSON
// RUN: commute verify %s %s | FileCheck %s --check-prefix=VERIFY
// RUN: commute show %s --input-placement='y=varying' | FileCheck %s --check-prefix=FITS

// CHECK: placements that conflict with operations:
// CHECK-NEXT: silu (model.py:12): uses a value that is partial on group '0', and is not linear in it; the value must be reduced first
// CHECK-NOT: tp.all_reduce

// JSON: "placement_problems": [
// JSON: "message": "uses a value that is partial on group '0'
// JSON: "node": "silu"
// JSON: "source": "model.py:12"

// The verdict holds all the same.
// VERIFY: equivalent on 2 ranks
// VERIFY: placements that conflict with operations of the first graph:
// VERIFY-NEXT: silu (model.py:12): uses a value

// FITS-NOT: placements that do not fit

module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%y: tensor<4x8xf32> {tp.name = "y", tp.placements = {"0" = #tp.placement<partial(sum)>}}) -> tensor<4x8xf32> {
    %0 = tp.map silu(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("silu"("model.py":12:0))
    %1 = tp.all_reduce sum %0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
