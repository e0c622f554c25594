// A note of a spelling is used where it fits, and ignored where it does not,
// whatever is in it.
// RUN: rm -rf %t && split-file %s %t
// RUN: for f in %t/*.mlir; do commute opt $f -o - --quiet --passes=lower-collectives || exit 1; done | FileCheck %s

//--- a_fits.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("n"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- b_wrong_order.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}b_wrong_order.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- c_another_group.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}c_another_group.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [1, 0]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- d_operand_that_comes_later.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}d_operand_that_comes_later.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 2>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- e_no_such_operand.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}e_no_such_operand.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: -7>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- f_no_reindexing_op.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}f_no_reindexing_op.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.cast", operands = array<i64: 0>, attributes = {}, type = tensor<4x4xbf16>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- g_no_op.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}g_no_op.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.frobnicate", operands = array<i64: 0>, attributes = {}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- h_terminator.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}h_terminator.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "func.return", operands = array<i64: 0>, attributes = {}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- i_slice_out_of_range.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}i_slice_out_of_range.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 3 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- j_attribute_missing.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}j_attribute_missing.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- k_attribute_of_another_kind.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}k_attribute_of_another_kind.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = "0", start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- l_type_of_another_kind.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}l_type_of_another_kind.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = i32, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- m_two_collectives.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}m_two_collectives.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- n_no_collective.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}n_no_collective.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = [{op = "tp.slice", operands = array<i64: -1>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: -1>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: -1>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 0, 1>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- o_nothing.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}o_nothing.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = []}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- p_no_list.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}p_no_list.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<2x4xf32>, ops = 3 : i64}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}

//--- q_another_input.mlir
// CHECK-LABEL: func.func @main
// CHECK: %[[G:.*]] = tp.all_gather %arg0 gather_axis 0 group <"0", [0, 1]> : {{.*}} loc(#[[LOC:.*]])
// CHECK-NEXT: %[[A:.*]] = tp.slice %[[G]] dim 0 start 0 step 1
// CHECK-NEXT: %[[B:.*]] = tp.slice %[[G]] dim 0 start 2 step 1
// CHECK-NEXT: %[[C:.*]] = tp.concat %[[A]], %[[B]] dim 1
// CHECK-NEXT: return %[[C]]
// CHECK: #[[LOC]] = loc("{{.*}}q_another_input.mlir"
module {
  func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>) {
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> {tp.spelling = {input = tensor<3x4xf32>, ops = [{op = "tp.all_gather", operands = array<i64: -1>, attributes = {group = #tp.group<"0", [0, 1]>, gather_axis = 0 : i64}, type = tensor<4x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 0 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.slice", operands = array<i64: 0>, attributes = {dim = 0 : i64, start = 2 : i64, step = 1 : i64}, type = tensor<2x4xf32>, location = loc("n")}, {op = "tp.concat", operands = array<i64: 1, 2>, attributes = {dim = 1 : i64}, type = tensor<2x8xf32>, location = loc("n")}]}} : tensor<2x4xf32> -> tensor<2x8xf32>
    return %g : tensor<2x8xf32>
  }
}
