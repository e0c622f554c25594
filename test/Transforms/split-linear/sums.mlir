// Products of concatenations along the contraction become sums.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s
// Once more changes nothing.
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.once.mlir --quiet --policy=always --passes=split-linear && commute opt $f.once.mlir -o - --quiet --policy=always --passes=split-linear; done | FileCheck %s

//--- a_linear_of_two.mlir
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[U:.*]] = tp.slice %arg2 dim 1 start 0
// CHECK-DAG: %[[V:.*]] = tp.slice %arg2 dim 1 start 4
// CHECK: %[[S:.*]] = tp.matmul %arg0, %[[U]] transpose_rhs bias %arg3
// CHECK: %[[Y:.*]] = tp.matmul %arg1, %[[V]] transpose_rhs bias %[[S]]
// CHECK: return %[[Y]]
module {
  func.func @main(%a: tensor<8x4xbf16>, %b: tensor<8x2xbf16>, %w: tensor<16x6xbf16>, %c: tensor<16xbf16>) -> tensor<8x16xbf16> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<8x6xbf16>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<8x6xbf16>, tensor<16x6xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    return %y : tensor<8x16xbf16>
  }
}

//--- b_five_parts.mlir
// An addmm with a bias of its own, five parts, one without elements.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK: tp.matmul %arg0, %{{.*}} bias %arg6
// CHECK-COUNT-3: tp.matmul
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %c: tensor<8x0xf32>, %d: tensor<8x3xf32>, %e: tensor<8x1xf32>, %w: tensor<10x16xf32>, %s: tensor<8x16xf32>) -> tensor<8x16xf32> {
    %x = tp.concat %a, %b, %c, %d, %e dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>, tensor<8x0xf32>, tensor<8x3xf32>, tensor<8x1xf32>) -> tensor<8x10xf32>
    %y = tp.matmul %x, %w bias %s : (tensor<8x10xf32>, tensor<10x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    return %y : tensor<8x16xf32>
  }
}

//--- c_linear_of_batches.mlir
// Rows of all batches are one matrix, which addmm takes.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = tp.reshape %arg0 : tensor<2x3x4xbf16> -> tensor<6x4xbf16>
// CHECK: %[[B:.*]] = tp.reshape %arg1 : tensor<2x3x2xbf16> -> tensor<6x2xbf16>
// CHECK: %[[S:.*]] = tp.matmul %[[A]], {{.*}} bias %arg3
// CHECK: %[[Y:.*]] = tp.matmul %[[B]], {{.*}} bias %[[S]] :{{.*}} -> tensor<6x16xbf16>
// CHECK: tp.reshape %[[Y]] : tensor<6x16xbf16> -> tensor<2x3x16xbf16>
module {
  func.func @main(%a: tensor<2x3x4xbf16>, %b: tensor<2x3x2xbf16>, %w: tensor<16x6xbf16>, %c: tensor<16xbf16>) -> tensor<2x3x16xbf16> {
    %x = tp.concat %a, %b dim 2 : (tensor<2x3x4xbf16>, tensor<2x3x2xbf16>) -> tensor<2x3x6xbf16>
    %y = tp.matmul %x, %w transpose_rhs bias %c : (tensor<2x3x6xbf16>, tensor<16x6xbf16>, tensor<16xbf16>) -> tensor<2x3x16xbf16>
    return %y : tensor<2x3x16xbf16>
  }
}

//--- d_batches_of_matrices.mlir
// bmm: the sum goes with baddbmm.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = tp.matmul %arg0, {{.*}} -> tensor<2x3x5xbf16>
// CHECK: tp.matmul %arg1, {{.*}} bias %[[S]] {{.*}} -> tensor<2x3x5xbf16>
module {
  func.func @main(%a: tensor<2x3x4xbf16>, %b: tensor<2x3x2xbf16>, %w: tensor<2x6x5xbf16>) -> tensor<2x3x5xbf16> {
    %x = tp.concat %a, %b dim 2 : (tensor<2x3x4xbf16>, tensor<2x3x2xbf16>) -> tensor<2x3x6xbf16>
    %y = tp.matmul %x, %w : (tensor<2x3x6xbf16>, tensor<2x6x5xbf16>) -> tensor<2x3x5xbf16>
    return %y : tensor<2x3x5xbf16>
  }
}

//--- e_broadcast_batches.mlir
// baddbmm does not broadcast: the products are added.
// CHECK-LABEL: func.func @main
// CHECK: %[[S:.*]] = tp.matmul %arg0
// CHECK: %[[T:.*]] = tp.matmul %arg1
// CHECK: tp.map add(%[[S]], %[[T]])
module {
  func.func @main(%a: tensor<4x2x3x4xbf16>, %b: tensor<4x2x3x2xbf16>, %w: tensor<2x6x5xbf16>) -> tensor<4x2x3x5xbf16> {
    %x = tp.concat %a, %b dim 3 : (tensor<4x2x3x4xbf16>, tensor<4x2x3x2xbf16>) -> tensor<4x2x3x6xbf16>
    %y = tp.matmul %x, %w : (tensor<4x2x3x6xbf16>, tensor<2x6x5xbf16>) -> tensor<4x2x3x5xbf16>
    return %y : tensor<4x2x3x5xbf16>
  }
}

//--- f_through_views.mlir
// A concatenation that is cast, turned and regrouped before it is multiplied.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK: %[[C:.*]] = tp.cast %arg0
// CHECK: %[[P:.*]] = tp.permute %[[C]] [1, 0, 2]
// CHECK: %[[R:.*]] = tp.reshape %[[P]] : {{.*}} -> tensor<6x4xbf16>
// CHECK: tp.matmul %[[R]]
// CHECK: tp.matmul
// CHECK-NOT: tp.concat
// CHECK: return
module {
  func.func @main(%a: tensor<2x3x4xf32>, %b: tensor<2x3x2xf32>, %w: tensor<6x5xbf16>) -> tensor<6x5xbf16> {
    %x = tp.concat %a, %b dim 2 : (tensor<2x3x4xf32>, tensor<2x3x2xf32>) -> tensor<2x3x6xf32>
    %c = tp.cast %x : tensor<2x3x6xf32> -> tensor<2x3x6xbf16>
    %p = tp.permute %c [1, 0, 2] : tensor<2x3x6xbf16> -> tensor<3x2x6xbf16, #tp.layout<strides = [6, 18, 1]>>
    %r = tp.reshape %p : tensor<3x2x6xbf16, #tp.layout<strides = [6, 18, 1]>> -> tensor<6x6xbf16>
    %y = tp.matmul %r, %w : (tensor<6x6xbf16>, tensor<6x5xbf16>) -> tensor<6x5xbf16>
    return %y : tensor<6x5xbf16>
  }
}

//--- g_both_operands.mlir
// Parts of both operands, with other borders: the finer ones.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK-DAG: %[[A:.*]] = tp.slice %arg0 dim 1 start 0 {{.*}} -> tensor<8x2xf32
// CHECK-DAG: %[[B:.*]] = tp.slice %arg0 dim 1 start 2 {{.*}} -> tensor<8x2xf32
// CHECK-DAG: %[[C:.*]] = tp.slice %arg3 dim 0 start 0 {{.*}} -> tensor<2x5xf32
// CHECK-DAG: %[[D:.*]] = tp.slice %arg3 dim 0 start 2 {{.*}} -> tensor<2x5xf32
// CHECK: tp.matmul %[[A]], %arg2 :
// CHECK: tp.matmul %[[B]], %[[C]] bias
// CHECK: tp.matmul %arg1, %[[D]] bias
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %u: tensor<2x5xf32>, %v: tensor<4x5xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %w = tp.concat %u, %v dim 0 : (tensor<2x5xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %y = tp.matmul %x, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- h_symbolic_rows.mlir
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK-COUNT-2: tp.matmul
// CHECK: return
module attributes {tp.symbol_hints = {s0 = 7 : i64}} {
  func.func @main(%a: tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, %b: tensor<?x2xf32, #tp.layout<[s0] sizes = [s0, 2]>>, %w: tensor<5x6xf32>) -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>> {
    %x = tp.concat %a, %b dim 1 : (tensor<?x4xf32, #tp.layout<[s0] sizes = [s0, 4]>>, tensor<?x2xf32, #tp.layout<[s0] sizes = [s0, 2]>>) -> tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<?x6xf32, #tp.layout<[s0] sizes = [s0, 6]>>, tensor<5x6xf32>) -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>
    return %y : tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>
  }
}

//--- i_symbolic_parts.mlir
// Both operands have a border at s0: nothing has to be cut there.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK: %[[S:.*]] = tp.matmul %arg0, %arg2
// CHECK: tp.matmul %arg1, %arg3 bias %[[S]]
// CHECK: return
module attributes {tp.symbol_hints = {s0 = 7 : i64}} {
  func.func @main(%a: tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, %b: tensor<8x2xf32>, %u: tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>, %v: tensor<2x5xf32>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, tensor<8x2xf32>) -> tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0 + 2]>>
    %w = tp.concat %u, %v dim 0 : (tensor<?x5xf32, #tp.layout<[s0] sizes = [s0, 5]>>, tensor<2x5xf32>) -> tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 + 2, 5]>>
    %y = tp.matmul %x, %w : (tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0 + 2]>>, tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 + 2, 5]>>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- j_symbolic_blocks.mlir
// Parts of one symbolic size are blocks, which a slice can count.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK: tp.slice %arg2 dim 0 start 1 blocks
// CHECK: return
module attributes {tp.symbol_hints = {s0 = 7 : i64}} {
  func.func @main(%a: tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, %b: tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, %w: tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 2, 5]>>) -> tensor<8x5xf32> {
    %x = tp.concat %a, %b dim 1 : (tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>, tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0]>>) -> tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0 * 2]>>
    %y = tp.matmul %x, %w : (tensor<8x?xf32, #tp.layout<[s0] sizes = [8, s0 * 2]>>, tensor<?x5xf32, #tp.layout<[s0] sizes = [s0 * 2, 5]>>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}

//--- k_two_readers.mlir
// Both products of one concatenation, one of them from the left.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK-COUNT-4: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %w: tensor<6x5xf32>, %v: tensor<3x6xf32>) -> (tensor<8x5xf32>, tensor<3x8xf32>) {
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %y = tp.matmul %x, %w : (tensor<8x6xf32>, tensor<6x5xf32>) -> tensor<8x5xf32>
    %z = tp.matmul %v, %x transpose_rhs : (tensor<3x6xf32>, tensor<8x6xf32>) -> tensor<3x8xf32>
    return %y, %z : tensor<8x5xf32>, tensor<3x8xf32>
  }
}

//--- l_nested.mlir
// A concatenation of concatenations.
// CHECK-LABEL: func.func @main
// CHECK-NOT: tp.concat
// CHECK-COUNT-3: tp.matmul
// CHECK-NOT: tp.matmul
// CHECK: return
module {
  func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x2xf32>, %c: tensor<8x3xf32>, %w: tensor<9x5xf32>) -> tensor<8x5xf32> {
    %i = tp.concat %a, %b dim 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    %x = tp.concat %i, %c dim 1 : (tensor<8x6xf32>, tensor<8x3xf32>) -> tensor<8x9xf32>
    %y = tp.matmul %x, %w : (tensor<8x9xf32>, tensor<9x5xf32>) -> tensor<8x5xf32>
    return %y : tensor<8x5xf32>
  }
}
