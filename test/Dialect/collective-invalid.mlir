// What the verifiers of collectives, waits and markers refuse.
// Each is beside a twin that is legal.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @all_reduce_size(%a: tensor<4x8xf32>) {
  %legal = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_reduce' op result has size 8 along dim 0, expected 4}}
  %illegal = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @all_reduce_element_type(%a: tensor<4x8xf32>) {
  %legal = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_reduce' op result has element type 'f16', expected 'f32'}}
  %illegal = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @collective_broadcast_size(%a: tensor<4x8xf32>) {
  %legal = tp.collective_broadcast %a root 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.collective_broadcast' op result has size 8 along dim 0, expected 4}}
  %illegal = tp.collective_broadcast %a root 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @collective_broadcast_element_type(%a: tensor<4x8xf32>) {
  %legal = tp.collective_broadcast %a root 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.collective_broadcast' op result has element type 'f16', expected 'f32'}}
  %illegal = tp.collective_broadcast %a root 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @collective_broadcast_root(%a: tensor<4x8xf32>) {
  // Positions, not ranks.
  %legal = tp.collective_broadcast %a root 1 group <"0", [4, 5]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.collective_broadcast' op root is 4, expected a position in a group of 2}}
  %illegal = tp.collective_broadcast %a root 4 group <"0", [4, 5]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @collective_broadcast_negative_root(%a: tensor<4x8xf32>) {
  %legal = tp.collective_broadcast %a root 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.collective_broadcast' op root is -1, expected a position in a group of 2}}
  %illegal = tp.collective_broadcast %a root -1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @all_gather_axis(%a: tensor<4x8xf32>) {
  %legal = tp.all_gather %a gather_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x16xf32>
  // expected-error @below {{'tp.all_gather' op gather_axis is 2, expected a dim of a tensor of rank 2}}
  %illegal = tp.all_gather %a gather_axis 2 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @all_gather_size(%a: tensor<4x8xf32>) {
  %legal = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // expected-error @below {{'tp.all_gather' op result has size 12 along dim 0, expected 8}}
  %illegal = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<12x8xf32>
  return
}

// -----

func.func @all_gather_rank(%a: tensor<4x8xf32>) {
  %legal = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // expected-error @below {{'tp.all_gather' op operand and result must have the same number of dims}}
  %illegal = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @all_gather_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  %legal = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 8, 8]>>
  // expected-error @below {{'tp.all_gather' op result has size s0 * 8 + 2 along dim 0, expected s0 * 8}}
  %illegal = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 8 + 2, 8]>>
  return
}

// -----

func.func @reduce_scatter_size(%a: tensor<4x8xf32>) {
  %legal = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{'tp.reduce_scatter' op result has size 4 along dim 0, expected 2}}
  %illegal = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @reduce_scatter_indivisible(%a: tensor<4x8xf32>) {
  %legal = tp.reduce_scatter sum %a scatter_axis 1 group <"0", [0, 1, 2, 3]> : tensor<4x8xf32> -> tensor<4x2xf32>
  // expected-error @below {{'tp.reduce_scatter' op cannot cut size 8 along dim 1 into 3 equal blocks}}
  %illegal = tp.reduce_scatter sum %a scatter_axis 1 group <"0", [0, 1, 2]> : tensor<4x8xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @reduce_scatter_axis(%a: tensor<4x8xf32>) {
  %legal = tp.reduce_scatter sum %a scatter_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32>
  // expected-error @below {{'tp.reduce_scatter' op scatter_axis is -1, expected a dim of a tensor of rank 2}}
  %illegal = tp.reduce_scatter sum %a scatter_axis -1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @reduce_scatter_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  %legal = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1]> : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 2, 8]>>
  // expected-error @below {{'tp.reduce_scatter' op size of the operand along dim 0 must be 2 times that of the result}}
  %illegal = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1]> : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 2 + 1, 8]>>
  return
}

// -----

func.func @all_to_all_pieces(%a: tensor<4x8xf32>) {
  %legal = tp.all_to_all %a output_splits [2, 2] input_splits [1, 3] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_to_all' op input_splits has 1 entries, expected 2, one for each member of the group}}
  %illegal = tp.all_to_all %a output_splits [2, 2] input_splits [4] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @all_to_all_negative(%a: tensor<4x8xf32>) {
  %legal = tp.all_to_all %a output_splits [2, 2] input_splits [0, 4] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_to_all' op input_splits has a negative entry}}
  %illegal = tp.all_to_all %a output_splits [2, 2] input_splits [-1, 5] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @all_to_all_input_total(%a: tensor<4x8xf32>) {
  %legal = tp.all_to_all %a output_splits [2, 2] input_splits [1, 3] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_to_all' op input_splits adds up to 3, but dim 0 has size 4}}
  %illegal = tp.all_to_all %a output_splits [2, 2] input_splits [1, 2] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @all_to_all_output_total(%a: tensor<4x8xf32>) {
  %legal = tp.all_to_all %a output_splits [2, 3] input_splits [2, 2] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<5x8xf32>
  // expected-error @below {{'tp.all_to_all' op output_splits adds up to 4, but dim 0 has size 5}}
  %illegal = tp.all_to_all %a output_splits [2, 2] input_splits [2, 2] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<5x8xf32>
  return
}

// -----

func.func @all_to_all_indivisible(%a: tensor<4x8xf32>) {
  %legal = tp.all_to_all %a output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_to_all' op cannot cut size 4 along dim 0 into 3 equal pieces}}
  %illegal = tp.all_to_all %a output_splits [] input_splits [] group <"0", [0, 1, 2]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @all_to_all_other_dim(%a: tensor<4x8xf32>) {
  %legal = tp.all_to_all %a output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_to_all' op result has size 4 along dim 1, expected 8}}
  %illegal = tp.all_to_all %a output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @all_to_all_scalar(%a: tensor<4x8xf32>, %b: tensor<f32>) {
  %legal = tp.all_to_all %a output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_to_all' op dim 0 is 0, expected a dim of a tensor of rank 0}}
  %illegal = tp.all_to_all %b output_splits [] input_splits [] group <"0", [0, 1]> : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @rank_slice_size(%a: tensor<4x8xf32>) {
  %legal = tp.rank_slice %a slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{'tp.rank_slice' op result has size 1 along dim 0, expected 2}}
  %illegal = tp.rank_slice %a slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}

// -----

func.func @rank_slice_indivisible(%a: tensor<4x8xf32>) {
  %legal = tp.rank_slice %a slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{'tp.rank_slice' op cannot cut size 4 along dim 0 into 3 equal blocks}}
  %illegal = tp.rank_slice %a slice_axis 0 group <"0", [0, 1, 2]> : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @rank_select_count(%a: tensor<4x8xf32>) {
  %legal = tp.rank_select %a, %a group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.rank_select' op has 2 operands, expected 3, one for each member of its group}}
  %illegal = tp.rank_select %a, %a group <"0", [0, 1, 2]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rank_select_sizes(%a: tensor<4x8xf32>, %b: tensor<4x4xf32>) {
  %legal = tp.rank_select %a, %a group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.rank_select' op operand has size 4 along dim 1, expected 8}}
  %illegal = tp.rank_select %a, %b group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rank_select_dims(%a: tensor<4x8xf32>, %b: tensor<f32>) {
  // expected-error @below {{'tp.rank_select' op operands must have the same number of dims}}
  %illegal = tp.rank_select %a, %b group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @rank_select_elements(%a: tensor<4x8xf32>, %b: tensor<4x8xf64>) {
  %legal = tp.rank_select %a, %a group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.rank_select' op operands must have the same element type}}
  %illegal = tp.rank_select %a, %b group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @wait_type(%a: tensor<4x8xf32>) {
  %legal = tp.wait %a : tensor<4x8xf32> -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-error @below {{'tp.wait' op result has size 4 along dim 1, expected 8}}
  %illegal = tp.wait %a : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @region_marker_size(%a: tensor<4x8xf32>) {
  %legal = tp.region_marker begin %a id 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.region_marker' op result has size 8 along dim 0, expected 4}}
  %illegal = tp.region_marker begin %a id 0 : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @region_marker_element_type(%a: tensor<4x8xf32>) {
  %legal = tp.region_marker end %a id 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.region_marker' op result has element type 'f16', expected 'f32'}}
  %illegal = tp.region_marker end %a id 0 : tensor<4x8xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @all_to_all_overflow(%a: tensor<4x8xf32>) {
  %legal = tp.all_to_all %a output_splits [2, 2] input_splits [2, 2] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.all_to_all' op input_splits adds up to more than fits in 64 bits}}
  %illegal = tp.all_to_all %a output_splits [2, 2] input_splits [9223372036854775807, 2] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}
