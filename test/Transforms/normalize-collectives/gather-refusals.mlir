// Reassembly behind an all_gather that is no all_gather along any dim, and why.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o $f.out.mlir --passes=normalize-collectives | grep -v "^proof"; done | FileCheck %s --implicit-check-not=applied
// RUN: for f in %t/*.mlir; do commute-opt $f -o $f.plain && commute-opt $f --normalize-collectives -o $f.after && diff $f.plain $f.after || exit 1; done

//--- a_reversed_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the shards in the order 1, 0, not in the order of the group
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.map relu(%4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %5 : tensor<4x12xf32>
  }
}

//--- b_swapped_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the shards in the order 1, 0, not
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.map relu(%4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %5 : tensor<4x12xf32>
  }
}

//--- c_duplicate_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes shard 0 more than once and leaves out shard 1
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.map relu(%4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %5 : tensor<4x12xf32>
  }
}

//--- d_shifted_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 1 to 5 of dim 0 as slice 0, which starts inside a shard (size 4)
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 1 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.map relu(%4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %5 : tensor<4x12xf32>
  }
}

//--- e_half_shards_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 4 slices instead of one of size 4 for each of the 2 ranks of the group
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x24xf32>
    %7 = tp.map relu(%6) : (tensor<2x24xf32>) -> tensor<2x24xf32>
    return %7 : tensor<2x24xf32>
  }
}

//--- f_trimmed_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat ends at 6 of 8 of dim 0, before the end of the last shard
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<3x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<3x6xf32>
    %3 = tp.slice %1 dim 0 start 3 step 1 : tensor<8x6xf32> -> tensor<3x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x12xf32>
    %5 = tp.map relu(%4) : (tensor<3x12xf32>) -> tensor<3x12xf32>
    return %5 : tensor<3x12xf32>
  }
}

//--- g_overlap_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 0 to 2 of dim 0 as slice 1, after everything before 2 was already taken
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x18xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %5 = tp.concat %2, %3, %4 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x18xf32>
    %6 = tp.map relu(%5) : (tensor<2x18xf32>) -> tensor<2x18xf32>
    return %6 : tensor<2x18xf32>
  }
}

//--- h_hole_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat leaves out 2 to 4 of dim 0
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<2x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x12xf32>
    %5 = tp.map relu(%4) : (tensor<2x12xf32>) -> tensor<2x12xf32>
    return %5 : tensor<2x12xf32>
  }
}

//--- i_steps_2.mlir
// CHECK: refused {{.*}}: kept along dim 0: cannot prove that the concatenation tp.concat concatenates the shards along any dim
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 2 : tensor<8x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [12, 1]>>
    %3 = tp.slice %1 dim 0 start 1 step 2 : tensor<8x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [12, 1]>>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32, #tp.layout<strides = [12, 1]>>, tensor<4x6xf32, #tp.layout<strides = [12, 1]>>) -> tensor<4x12xf32>
    %5 = tp.map relu(%4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %5 : tensor<4x12xf32>
  }
}

//--- j_other_reader_2.mlir
// CHECK: refused {{.*}}: not rewritten as an all_gather along dim 1: tp.map uses an intermediate value
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x12xf32>, tensor<8x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %5 = tp.map relu(%4) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    %6 = tp.map relu(%1) : (tensor<8x6xf32>) -> tensor<8x6xf32>
    return %5, %6 : tensor<4x12xf32>, tensor<8x6xf32>
  }
}

//--- k_strides_2.mlir
// CHECK: refused {{.*}}: not rewritten as an all_gather along dim 1: the result would have other strides, which its users would observe
module {
  func.func @main(%x0: tensor<4x3x2xf32>) -> (tensor<4x6x2xf32, #tp.layout<strides = [2, 8, 1]>>) {
    %0 = tp.permute %x0 [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32, #tp.layout<strides = [2, 6, 1]>>
    %1 = tp.copy %0 : tensor<3x4x2xf32, #tp.layout<strides = [2, 6, 1]>> -> tensor<3x4x2xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1]> async : tensor<3x4x2xf32> -> tensor<6x4x2xf32>
    %3 = tp.wait %2 : tensor<6x4x2xf32> -> tensor<6x4x2xf32>
    %4 = tp.permute %3 [1, 0, 2] : tensor<6x4x2xf32> -> tensor<4x6x2xf32, #tp.layout<strides = [2, 8, 1]>>
    return %4 : tensor<4x6x2xf32, #tp.layout<strides = [2, 8, 1]>>
  }
}

//--- l_foreign_2.mlir
// CHECK-NOT: {{^ +}}refused
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<4x6xf32>) -> (tensor<4x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1]> async : tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = tp.wait %0 : tensor<8x6xf32> -> tensor<8x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<8x6xf32> -> tensor<4x6xf32>
    %3 = tp.concat %2, %x1 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>
    %4 = tp.map relu(%3) : (tensor<4x12xf32>) -> tensor<4x12xf32>
    return %4 : tensor<4x12xf32>
  }
}

//--- m_reversed_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the shards in the order 3, 2, 1, 0, not in the order of the group
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %7 = tp.map relu(%6) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %7 : tensor<4x24xf32>
  }
}

//--- n_swapped_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the shards in the order 1, 0, 2, 3, not
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %7 = tp.map relu(%6) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %7 : tensor<4x24xf32>
  }
}

//--- o_duplicate_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes shard 0 more than once and leaves out shard 3
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %7 = tp.map relu(%6) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %7 : tensor<4x24xf32>
  }
}

//--- p_left_out_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat leaves out shard 3 of 4
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x18xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.concat %2, %3, %4 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x18xf32>
    %6 = tp.map relu(%5) : (tensor<4x18xf32>) -> tensor<4x18xf32>
    return %6 : tensor<4x18xf32>
  }
}

//--- q_shifted_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 1 to 5 of dim 0 as slice 0, which starts inside a shard (size 4)
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 1 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %7 = tp.map relu(%6) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %7 : tensor<4x24xf32>
  }
}

//--- r_half_shards_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 8 slices instead of one of size 4 for each of the 4 ranks of the group
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x48xf32>
    %11 = tp.map relu(%10) : (tensor<2x48xf32>) -> tensor<2x48xf32>
    return %11 : tensor<2x48xf32>
  }
}

//--- s_double_shards_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 2 slices instead of one of size 4 for each of the 4 ranks
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<8x12xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<8x6xf32>
    %3 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<8x6xf32>
    %4 = tp.concat %2, %3 dim 1 : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x12xf32>
    %5 = tp.map relu(%4) : (tensor<8x12xf32>) -> tensor<8x12xf32>
    return %5 : tensor<8x12xf32>
  }
}

//--- t_trimmed_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat ends at 12 of 16 of dim 0, before the end of the last shard
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<3x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<3x6xf32>
    %3 = tp.slice %1 dim 0 start 3 step 1 : tensor<16x6xf32> -> tensor<3x6xf32>
    %4 = tp.slice %1 dim 0 start 6 step 1 : tensor<16x6xf32> -> tensor<3x6xf32>
    %5 = tp.slice %1 dim 0 start 9 step 1 : tensor<16x6xf32> -> tensor<3x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x24xf32>
    %7 = tp.map relu(%6) : (tensor<3x24xf32>) -> tensor<3x24xf32>
    return %7 : tensor<3x24xf32>
  }
}

//--- u_overlap_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 0 to 2 of dim 0 as slice 1, after everything before 2 was already taken
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x30xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %7 = tp.concat %2, %3, %4, %5, %6 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x30xf32>
    %8 = tp.map relu(%7) : (tensor<2x30xf32>) -> tensor<2x30xf32>
    return %8 : tensor<2x30xf32>
  }
}

//--- v_hole_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat leaves out 2 to 4 of dim 0
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<2x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x24xf32>
    %7 = tp.map relu(%6) : (tensor<2x24xf32>) -> tensor<2x24xf32>
    return %7 : tensor<2x24xf32>
  }
}

//--- w_steps_4.mlir
// CHECK: refused {{.*}}: kept along dim 0: cannot prove that the concatenation tp.concat concatenates the shards along any dim
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 4 : tensor<16x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [24, 1]>>
    %3 = tp.slice %1 dim 0 start 1 step 4 : tensor<16x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [24, 1]>>
    %4 = tp.slice %1 dim 0 start 2 step 4 : tensor<16x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [24, 1]>>
    %5 = tp.slice %1 dim 0 start 3 step 4 : tensor<16x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [24, 1]>>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<4x6xf32, #tp.layout<strides = [24, 1]>>, tensor<4x6xf32, #tp.layout<strides = [24, 1]>>, tensor<4x6xf32, #tp.layout<strides = [24, 1]>>, tensor<4x6xf32, #tp.layout<strides = [24, 1]>>) -> tensor<4x24xf32>
    %7 = tp.map relu(%6) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %7 : tensor<4x24xf32>
  }
}

//--- x_other_reader_4.mlir
// CHECK: refused {{.*}}: not rewritten as an all_gather along dim 1: tp.map uses an intermediate value
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x24xf32>, tensor<16x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %7 = tp.map relu(%6) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    %8 = tp.map relu(%1) : (tensor<16x6xf32>) -> tensor<16x6xf32>
    return %7, %8 : tensor<4x24xf32>, tensor<16x6xf32>
  }
}

//--- y_strides_4.mlir
// CHECK: refused {{.*}}: not rewritten as an all_gather along dim 1: the result would have other strides, which its users would observe
module {
  func.func @main(%x0: tensor<4x3x2xf32>) -> (tensor<4x12x2xf32, #tp.layout<strides = [2, 8, 1]>>) {
    %0 = tp.permute %x0 [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32, #tp.layout<strides = [2, 6, 1]>>
    %1 = tp.copy %0 : tensor<3x4x2xf32, #tp.layout<strides = [2, 6, 1]>> -> tensor<3x4x2xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<3x4x2xf32> -> tensor<12x4x2xf32>
    %3 = tp.wait %2 : tensor<12x4x2xf32> -> tensor<12x4x2xf32>
    %4 = tp.permute %3 [1, 0, 2] : tensor<12x4x2xf32> -> tensor<4x12x2xf32, #tp.layout<strides = [2, 8, 1]>>
    return %4 : tensor<4x12x2xf32, #tp.layout<strides = [2, 8, 1]>>
  }
}

//--- z_foreign_4.mlir
// CHECK-NOT: {{^ +}}refused
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<4x6xf32>) -> (tensor<4x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3]> async : tensor<4x6xf32> -> tensor<16x6xf32>
    %1 = tp.wait %0 : tensor<16x6xf32> -> tensor<16x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<16x6xf32> -> tensor<4x6xf32>
    %5 = tp.concat %2, %3, %4, %x1 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x24xf32>
    %6 = tp.map relu(%5) : (tensor<4x24xf32>) -> tensor<4x24xf32>
    return %6 : tensor<4x24xf32>
  }
}

//--- za_reversed_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the shards in the order 7, 6, 5, 4, 3, 2, 1, 0, not in the order of the group
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %11 = tp.map relu(%10) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %11 : tensor<4x48xf32>
  }
}

//--- zb_swapped_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes the shards in the order 1, 0, 2, 3, 4, 5, 6, 7, not
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %11 = tp.map relu(%10) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %11 : tensor<4x48xf32>
  }
}

//--- zc_duplicate_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes shard 0 more than once and leaves out shard 7
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %11 = tp.map relu(%10) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %11 : tensor<4x48xf32>
  }
}

//--- zd_left_out_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat leaves out shard 7 of 8
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x42xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.concat %2, %3, %4, %5, %6, %7, %8 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x42xf32>
    %10 = tp.map relu(%9) : (tensor<4x42xf32>) -> tensor<4x42xf32>
    return %10 : tensor<4x42xf32>
  }
}

//--- ze_shifted_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 1 to 5 of dim 0 as slice 0, which starts inside a shard (size 4)
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 1 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %11 = tp.map relu(%10) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %11 : tensor<4x48xf32>
  }
}

//--- zf_half_shards_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 16 slices instead of one of size 4 for each of the 8 ranks of the group
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x96xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 2 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 6 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %1 dim 0 start 10 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %8 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 14 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %10 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %11 = tp.slice %1 dim 0 start 18 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %12 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %13 = tp.slice %1 dim 0 start 22 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %14 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %15 = tp.slice %1 dim 0 start 26 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %16 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %17 = tp.slice %1 dim 0 start 30 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %18 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x96xf32>
    %19 = tp.map relu(%18) : (tensor<2x96xf32>) -> tensor<2x96xf32>
    return %19 : tensor<2x96xf32>
  }
}

//--- zg_double_shards_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 4 slices instead of one of size 4 for each of the 8 ranks
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<8x24xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %3 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %4 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %5 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<8x6xf32>
    %6 = tp.concat %2, %3, %4, %5 dim 1 : (tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x24xf32>
    %7 = tp.map relu(%6) : (tensor<8x24xf32>) -> tensor<8x24xf32>
    return %7 : tensor<8x24xf32>
  }
}

//--- zh_trimmed_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat ends at 24 of 32 of dim 0, before the end of the last shard
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<3x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %3 = tp.slice %1 dim 0 start 3 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %4 = tp.slice %1 dim 0 start 6 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %5 = tp.slice %1 dim 0 start 9 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %6 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %7 = tp.slice %1 dim 0 start 15 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %8 = tp.slice %1 dim 0 start 18 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %9 = tp.slice %1 dim 0 start 21 step 1 : tensor<32x6xf32> -> tensor<3x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x48xf32>
    %11 = tp.map relu(%10) : (tensor<3x48xf32>) -> tensor<3x48xf32>
    return %11 : tensor<3x48xf32>
  }
}

//--- zi_overlap_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat takes 0 to 2 of dim 0 as slice 1, after everything before 2 was already taken
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x54xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %8 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %10 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %11 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9, %10 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x54xf32>
    %12 = tp.map relu(%11) : (tensor<2x54xf32>) -> tensor<2x54xf32>
    return %12 : tensor<2x54xf32>
  }
}

//--- zj_hole_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: the concatenation tp.concat leaves out 2 to 4 of dim 0
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<2x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %6 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %7 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %8 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %9 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<2x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x48xf32>
    %11 = tp.map relu(%10) : (tensor<2x48xf32>) -> tensor<2x48xf32>
    return %11 : tensor<2x48xf32>
  }
}

//--- zk_steps_8.mlir
// CHECK: refused {{.*}}: kept along dim 0: cannot prove that the concatenation tp.concat concatenates the shards along any dim
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %3 = tp.slice %1 dim 0 start 1 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %4 = tp.slice %1 dim 0 start 2 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %5 = tp.slice %1 dim 0 start 3 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %6 = tp.slice %1 dim 0 start 4 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %7 = tp.slice %1 dim 0 start 5 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %8 = tp.slice %1 dim 0 start 6 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %9 = tp.slice %1 dim 0 start 7 step 8 : tensor<32x6xf32> -> tensor<4x6xf32, #tp.layout<strides = [48, 1]>>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<4x6xf32, #tp.layout<strides = [48, 1]>>, tensor<4x6xf32, #tp.layout<strides = [48, 1]>>, tensor<4x6xf32, #tp.layout<strides = [48, 1]>>, tensor<4x6xf32, #tp.layout<strides = [48, 1]>>, tensor<4x6xf32, #tp.layout<strides = [48, 1]>>, tensor<4x6xf32, #tp.layout<strides = [48, 1]>>, tensor<4x6xf32, #tp.layout<strides = [48, 1]>>, tensor<4x6xf32, #tp.layout<strides = [48, 1]>>) -> tensor<4x48xf32>
    %11 = tp.map relu(%10) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %11 : tensor<4x48xf32>
  }
}

//--- zl_other_reader_8.mlir
// CHECK: refused {{.*}}: not rewritten as an all_gather along dim 1: tp.map uses an intermediate value
module {
  func.func @main(%x0: tensor<4x6xf32>) -> (tensor<4x48xf32>, tensor<32x6xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.slice %1 dim 0 start 28 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %10 = tp.concat %2, %3, %4, %5, %6, %7, %8, %9 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %11 = tp.map relu(%10) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    %12 = tp.map relu(%1) : (tensor<32x6xf32>) -> tensor<32x6xf32>
    return %11, %12 : tensor<4x48xf32>, tensor<32x6xf32>
  }
}

//--- zm_strides_8.mlir
// CHECK: refused {{.*}}: not rewritten as an all_gather along dim 1: the result would have other strides, which its users would observe
module {
  func.func @main(%x0: tensor<4x3x2xf32>) -> (tensor<4x24x2xf32, #tp.layout<strides = [2, 8, 1]>>) {
    %0 = tp.permute %x0 [1, 0, 2] : tensor<4x3x2xf32> -> tensor<3x4x2xf32, #tp.layout<strides = [2, 6, 1]>>
    %1 = tp.copy %0 : tensor<3x4x2xf32, #tp.layout<strides = [2, 6, 1]>> -> tensor<3x4x2xf32>
    %2 = tp.all_gather %1 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<3x4x2xf32> -> tensor<24x4x2xf32>
    %3 = tp.wait %2 : tensor<24x4x2xf32> -> tensor<24x4x2xf32>
    %4 = tp.permute %3 [1, 0, 2] : tensor<24x4x2xf32> -> tensor<4x24x2xf32, #tp.layout<strides = [2, 8, 1]>>
    return %4 : tensor<4x24x2xf32, #tp.layout<strides = [2, 8, 1]>>
  }
}

//--- zn_foreign_8.mlir
// CHECK-NOT: {{^ +}}refused
module {
  func.func @main(%x0: tensor<4x6xf32>, %x1: tensor<4x6xf32>) -> (tensor<4x48xf32>) {
    %0 = tp.all_gather %x0 gather_axis 0 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> async : tensor<4x6xf32> -> tensor<32x6xf32>
    %1 = tp.wait %0 : tensor<32x6xf32> -> tensor<32x6xf32>
    %2 = tp.slice %1 dim 0 start 0 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %3 = tp.slice %1 dim 0 start 4 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %4 = tp.slice %1 dim 0 start 8 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %5 = tp.slice %1 dim 0 start 12 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %6 = tp.slice %1 dim 0 start 16 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %7 = tp.slice %1 dim 0 start 20 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %8 = tp.slice %1 dim 0 start 24 step 1 : tensor<32x6xf32> -> tensor<4x6xf32>
    %9 = tp.concat %2, %3, %4, %5, %6, %7, %8, %x1 dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x48xf32>
    %10 = tp.map relu(%9) : (tensor<4x48xf32>) -> tensor<4x48xf32>
    return %10 : tensor<4x48xf32>
  }
}
