// A program of one rank, of which nobody says that the others run it too. What
// they compute from the sum, and with which values, is unknown.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes=sequence-parallel && grep -c reduce_scatter $f.out.mlir; done | FileCheck %s

//--- a_unknown.mlir
// CHECK: kept as all_reduce: along dim 0, tp.map runs on shards only if all ranks run it, and the programs of the other ranks are unknown
// CHECK-SAME: ranks="exchange"
// CHECK: {{^}}0{{$}}
module attributes {tp.unknown_ranks} {
  func.func @main(%p: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.map exp(%0) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %1 : tensor<8x16xbf16>
  }
}

//--- b_unknown_with_a_wait.mlir
// CHECK: kept as all_reduce: along dim 0, tp.map runs on shards only if all ranks run it, and the programs of the other ranks are unknown
// CHECK: {{^}}0{{$}}
module attributes {tp.unknown_ranks} {
  func.func @main(%p: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> async : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.wait %0 : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.map exp(%1) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- c_the_same_on_all_ranks.mlir
// CHECK: sequence parallelism along dim 0
// CHECK: {{^}}1{{$}}
module {
  func.func @main(%p: tensor<8x16xbf16>) -> tensor<8x16xbf16> {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> async : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.wait %0 : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %2 = tp.map exp(%1) : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}
