// A proof that would take longer, or more memory, than it may is none: the
// verdict is "not proven", exit code 4, and `opt` writes nothing unless it is
// told to.
// RUN: rm -rf %t
// RUN: split-file %s %t
// RUN: sh %t/code.sh verify %t/a.mlir %t/b.mlir 2>&1 | FileCheck %s --check-prefix=EQUAL
// RUN: sh %t/code.sh verify %t/a.mlir %t/b.mlir --proof-time=0s 2>&1 | FileCheck %s --check-prefix=TIME
// RUN: sh %t/code.sh verify %t/a.mlir %t/b.mlir --proof-memory=1KiB 2>&1 | FileCheck %s --check-prefix=MEMORY
// RUN: sh %t/code.sh verify %t/a.mlir %t/b.mlir --proof-memory=1KiB --json 2>&1 | FileCheck %s --check-prefix=JSON
// Nothing is evaluated of what is the same in both.
// RUN: sh %t/code.sh verify %t/a.mlir %t/a.mlir --proof-memory=1KiB 2>&1 | FileCheck %s --check-prefix=EQUAL
// RUN: sh %t/code.sh verify %t/a.mlir %t/b.mlir --proof-time=soon 2>&1 | FileCheck %s --check-prefix=NO-TIME
// RUN: sh %t/code.sh verify %t/a.mlir %t/b.mlir --proof-memory=4GB4 2>&1 | FileCheck %s --check-prefix=NO-MEMORY

// RUN: sh %t/code.sh opt %fixtures/llama_tp2.pt2 --passes=sequence-parallel --policy=always -o %t/proven.mlir 2>&1 | FileCheck %s --check-prefix=PROVEN
// RUN: FileCheck %s --check-prefix=WRITTEN < %t/proven.mlir
// RUN: sh %t/code.sh opt %fixtures/llama_tp2.pt2 --passes=sequence-parallel --policy=always -o %t/unproven.mlir --proof-time=0s 2>&1 | FileCheck %s --check-prefix=UNPROVEN
// RUN: test ! -e %t/unproven.mlir
// RUN: sh %t/code.sh opt %fixtures/llama_tp2.pt2 --passes=sequence-parallel --policy=always -o %t/allowed.mlir --proof-time=0s --allow-unproven 2>&1 | FileCheck %s --check-prefix=ALLOWED
// RUN: FileCheck %s --check-prefix=WRITTEN < %t/allowed.mlir

// EQUAL: equivalent on 2 ranks
// EQUAL: exit code 0
// TIME: not proven: the proof would take longer than 0{{.*}} s (--proof-time)
// TIME: exit code 4
// MEMORY: not proven: the proof would need more memory than
// MEMORY: exit code 4
// JSON: "verdict": "not proven"
// JSON: exit code 4
// NO-TIME: --proof-time=soon: expected a time such as 500ms, 60s or 5min
// NO-TIME: exit code 2
// NO-MEMORY: --proof-memory=4GB4: expected a size such as 512MiB or 4GiB
// NO-MEMORY: exit code 2
// PROVEN: exit code 0
// UNPROVEN: the result is not proven equivalent: the proof would take longer than
// UNPROVEN-SAME: nothing was written (--proof-time raises the budget; --allow-unproven writes it all the same)
// UNPROVEN: exit code 4
// ALLOWED: exit code 0
// WRITTEN: tp.reduce_scatter

//--- code.sh
commute "$@"
echo "exit code $?"

//--- a.mlir
!x = tensor<512x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !x {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %r: !x {tp.name = "r", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<64xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<replicated>}}, %u: tensor<64x96xf32> {tp.name = "u", tp.placements = {"0" = #tp.placement<varying>}}) -> tensor<512x96xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : !x -> !x
    %1 = tp.map add(%0, %r) : (!x, !x) -> !x
    %2 = tp.map mul(%1, %w) : (!x, tensor<64xf32>) -> !x
    %3 = tp.matmul %2, %u : (!x, tensor<64x96xf32>) -> tensor<512x96xf32>
    return %3 : tensor<512x96xf32>
  }
}

//--- b.mlir
!x = tensor<512x64xf32>
!h = tensor<256x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !x {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %r: !x {tp.name = "r", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<64xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<replicated>}}, %u: tensor<64x96xf32> {tp.name = "u", tp.placements = {"0" = #tp.placement<varying>}}) -> tensor<512x96xf32> {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]> : !x -> !h
    %s = tp.rank_slice %r slice_axis 0 group <"0", [0, 1]> : !x -> !h
    %1 = tp.map add(%0, %s) : (!h, !h) -> !h
    %2 = tp.map mul(%1, %w) : (!h, tensor<64xf32>) -> !h
    %g = tp.all_gather %2 gather_axis 0 group <"0", [0, 1]> : !h -> !x
    %3 = tp.matmul %g, %u : (!x, tensor<64x96xf32>) -> tensor<512x96xf32>
    return %3 : tensor<512x96xf32>
  }
}
