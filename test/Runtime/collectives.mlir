// RUN: commute run %s --ranks=4 --print-elements | FileCheck %s

// Rank r holds [2r, 2r + 1]. The pairs have their members in unequal order.
#world = #tp.group<"0", [0, 1, 2, 3]>
#pairs = #tp.group<"1", [[1, 0], [2, 3]]>
#single = #tp.group<"2", [[3], [2], [1], [0]]>
module attributes {tp.groups = [#world, #pairs, #single]} {
  func.func @main() -> (tensor<2xf32>, tensor<4xf32>, tensor<2x2xf32>,
                        tensor<1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %all = tp.iota 0 : i64 step 1 : i64 -> tensor<8xf32>
    %x = tp.rank_slice %all slice_axis 0 group #world : tensor<8xf32> -> tensor<2xf32>

    // 0 + 2 + 4 + 6, 1 + 3 + 5 + 7.
    // CHECK: rank0.output0 F32 [2]: 12 16{{$}}
    %sum = tp.all_reduce sum %x group #world : tensor<2xf32> -> tensor<2xf32>

    // Rank 1 is the first of its pair.
    // CHECK: rank0.output1 F32 [4]: 2 3 0 1{{$}}
    %pair = tp.all_gather %x gather_axis 0 group #pairs : tensor<2xf32> -> tensor<4xf32>

    // CHECK: rank0.output2 F32 [2, 2]: 2 0 3 1{{$}}
    %column = tp.reshape %x : tensor<2xf32> -> tensor<2x1xf32>
    %columns = tp.all_gather %column gather_axis 1 group #pairs
      : tensor<2x1xf32> -> tensor<2x2xf32>

    // Position 1 of its pair: the second block of [2, 3] + [0, 1], halved.
    // CHECK: rank0.output3 F32 [1]: 2{{$}}
    %part = tp.reduce_scatter avg %x scatter_axis 0 group #pairs
      : tensor<2xf32> -> tensor<1xf32>

    // Member 0 sends its first element to itself, and its second to member 1.
    // CHECK: rank0.output4 F32 [2]: 3 1{{$}}
    %swap = tp.all_to_all %x output_splits [1, 1] input_splits [1, 1] group #pairs
      : tensor<2xf32> -> tensor<2xf32>

    // A group of one.
    // CHECK: rank0.output5 F32 [2]: 0 1{{$}}
    %own = tp.all_reduce max %x group #single : tensor<2xf32> -> tensor<2xf32>

    // The second of each pair is rank 0 in one and rank 3 in the other.
    // CHECK: rank0.output6 F32 [2]: 0 1{{$}}
    %sent = tp.collective_broadcast %x root 1 group #pairs : tensor<2xf32> -> tensor<2xf32>
    return %sum, %pair, %columns, %part, %swap, %own, %sent
      : tensor<2xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<1xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// CHECK: rank1.output0 F32 [2]: 12 16{{$}}
// CHECK: rank1.output1 F32 [4]: 2 3 0 1{{$}}
// CHECK: rank1.output3 F32 [1]: 1{{$}}
// CHECK: rank1.output4 F32 [2]: 2 0{{$}}
// CHECK: rank1.output5 F32 [2]: 2 3{{$}}
// CHECK: rank1.output6 F32 [2]: 0 1{{$}}
// CHECK: rank2.output1 F32 [4]: 4 5 6 7{{$}}
// CHECK: rank2.output3 F32 [1]: 5{{$}}
// CHECK: rank2.output6 F32 [2]: 6 7{{$}}
// CHECK: rank3.output0 F32 [2]: 12 16{{$}}
// CHECK: rank3.output2 F32 [2, 2]: 4 6 5 7{{$}}
// CHECK: rank3.output3 F32 [1]: 6{{$}}
// CHECK: rank3.output4 F32 [2]: 5 7{{$}}
