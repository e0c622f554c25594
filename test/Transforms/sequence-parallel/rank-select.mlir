// Values that differ between ranks. A collective that one rank's program would
// lack, because other ranks use other values, is not created.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --passes=sequence-parallel 2>&1; done | FileCheck %s

//--- a_both_ranks_use_it.mlir
// CHECK: applied {{.*}}sequence parallelism along dim 0
// CHECK: proof: equivalent on 2 ranks
module {
  func.func @main(%p: tensor<8x16xbf16> {tp.name = "p"}, %w: tensor<16xbf16> {tp.name = "w"}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> {tp.names = ["sum"]} : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 {tp.names = ["norm"]} : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.map neg(%1) {tp.names = ["neg"], tp.variant} : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %3 = tp.map exp(%1) {tp.names = ["neg"], tp.variant} : (tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %4 = tp.rank_select %2, %3 group <"0", [0, 1]> : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %4 : tensor<8x16xbf16>
  }
}

//--- b_one_rank_uses_it.mlir
// CHECK: commute: sequence-parallel: tp.all_gather for {{.*}} would run on some ranks only, because the ranks use different values; the pass was skipped
// CHECK-NOT: applied
module {
  func.func @main(%p: tensor<8x16xbf16> {tp.name = "p"}, %w: tensor<16xbf16> {tp.name = "w"}, %x: tensor<8x16xbf16> {tp.name = "x"}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> {tp.names = ["sum"]} : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rms_norm %0 weight %w epsilon 1.0e-06 dims 1 {tp.names = ["norm"]} : (tensor<8x16xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %2 = tp.rank_select %1, %x group <"0", [0, 1]> : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %2 : tensor<8x16xbf16>
  }
}

//--- c_nothing_else_uses_it.mlir
// CHECK: kept as all_reduce: along dim 0, tp.rank_select differs between ranks, so its input must be gathered first
module {
  func.func @main(%p: tensor<8x16xbf16> {tp.name = "p"}, %x: tensor<8x16xbf16> {tp.name = "x"}) -> (tensor<8x16xbf16>) {
    %0 = tp.all_reduce sum %p group <"0", [0, 1]> {tp.names = ["sum"]} : tensor<8x16xbf16> -> tensor<8x16xbf16>
    %1 = tp.rank_select %0, %x group <"0", [0, 1]> : (tensor<8x16xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    return %1 : tensor<8x16xbf16>
  }
}
