// Groups of which nothing states the members are not joined, and nothing is
// concluded from one for another. Stated, the same collectives are one, or
// simplify.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --policy=always --no-verify > $f.log || exit 1; done
// RUN: cat %t/a_gathers.mlir.log %t/a_gathers.mlir.out.mlir | FileCheck %s --check-prefix=GATHERS
// RUN: commute opt %t/a_gathers.mlir -o - --quiet --group=tp=0-1/2-3 --group=dp=0,2/1,3 --group=world=0-3 --passes=normalize-collectives | FileCheck %s --check-prefix=STATED
// RUN: FileCheck %s --check-prefix=SUMS --input-file=%t/b_sums.mlir.out.mlir
// RUN: FileCheck %s --check-prefix=ROWS --input-file=%t/c_rows.mlir.out.mlir

// GATHERS: refused {{.*}}not merged with tp.all_gather: the members of group 'tp' are unknown; declare its ranks, for example with --group=tp=0-1
// GATHERS: tp.all_gather %{{.*}} group <"tp", size = 2>
// GATHERS: tp.all_gather %{{.*}} group <"dp", size = 2>
// STATED: tp.all_gather %{{.*}} group <"world", [0, 1, 2, 3]>
// STATED-NOT: = tp.all_gather

//--- a_gathers.mlir
module {
  func.func @main(%x: tensor<3x5xf32>) -> tensor<12x5xf32> {
    %0 = tp.all_gather %x gather_axis 0 group <"tp", size = 2> : tensor<3x5xf32> -> tensor<6x5xf32>
    %1 = tp.all_gather %0 gather_axis 0 group <"dp", size = 2> : tensor<6x5xf32> -> tensor<12x5xf32>
    return %1 : tensor<12x5xf32>
  }
}

// What is equal on the ranks of one group need not be on those of another.
// SUMS: tp.all_reduce sum %{{.*}} group <"tp", size = 2>
// SUMS: tp.all_reduce sum %{{.*}} group <"dp", size = 2>
// SUMS-NOT: tp.rank_slice

//--- b_sums.mlir
module {
  func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %0 = tp.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = tp.all_reduce sum %0 group <"tp", size = 2> : tensor<4x8xf32> -> tensor<4x8xf32>
    %2 = tp.matmul %y, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %3 = tp.all_reduce sum %2 group <"dp", size = 2> : tensor<4x8xf32> -> tensor<4x8xf32>
    %4 = tp.map add(%1, %3) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    return %4 : tensor<4x8xf32>
  }
}

// A region of one group has no collective of another in it.
// ROWS: %[[ROWS:.*]] = tp.all_gather %{{.*}} group <"tp", size = 2>
// ROWS: tp.reduce_scatter sum %[[ROWS]] scatter_axis 0 group <"dp", size = 2>

//--- c_rows.mlir
module {
  func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %0 = tp.all_reduce sum %x group <"tp", size = 2> : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = tp.map relu(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = tp.all_reduce sum %1 group <"dp", size = 2> : tensor<4x8xf32> -> tensor<4x8xf32>
    %3 = tp.map relu(%2) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %3 : tensor<4x8xf32>
  }
}
