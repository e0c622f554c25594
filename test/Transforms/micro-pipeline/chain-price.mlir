// A chain over several groups that is left alone goes back to what it was: that is
// what a fused op has to be faster than, not the one collective over all ranks.
// RUN: commute targets h100x8 --json | %python %S/Inputs/slow_world.py > %t.json
// RUN: commute opt %s -o %t.mlir --target=%t.json --passes=normalize-collectives,micro-pipeline | FileCheck %s
// CHECK: applied {{.*}} one all_gather along dim 0 over group 'world'
// CHECK: not fused: {{.*}} us fused, {{[0-9]?[0-9]?[0-9]?[0-9](\.[0-9])?}} us unfused on
module attributes {tp.groups = [#tp.group<"world", [0, 1, 2, 3, 4, 5, 6, 7]>]} {
  func.func @main(%x: tensor<64x64xbf16>, %w: tensor<64x32xbf16>) -> tensor<512x32xbf16> {
    %0 = tp.all_gather %x gather_axis 0 group <"tp", [[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<64x64xbf16> -> tensor<256x64xbf16>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", [[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<256x64xbf16> -> tensor<512x64xbf16>
    %2 = tp.matmul %1, %w : (tensor<512x64xbf16>, tensor<64x32xbf16>) -> tensor<512x32xbf16>
    return %2 : tensor<512x32xbf16>
  }
}
