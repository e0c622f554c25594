// What the parsers and verifiers of groups, layouts and placements refuse.
// Legal twins of all are in attributes.mlir.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{group "0" has no members}}
func.func private @group_of_nobody() attributes {group = #tp.group<"0", []>}

// -----

// expected-error @below {{group "0" has no members}}
func.func private @axis_of_nobody() attributes {group = #tp.group<"0", [[]]>}

// -----

// expected-error @below {{group "0": rank 1 is listed twice}}
func.func private @duplicate() attributes {group = #tp.group<"0", [0, 1, 1]>}

// -----

// expected-error @below {{group "tp": rank 1 is listed twice}}
func.func private @duplicate_on_axis() attributes {group = #tp.group<"tp", [[0, 1], [1, 2]]>}

// -----

// expected-error @below {{group "0": rank -1 is negative}}
func.func private @negative() attributes {group = #tp.group<"0", [0, -1]>}

// -----

// expected-error @below {{the groups of one axis must have equal sizes, but two have 2 and 1 members}}
func.func private @unequal() attributes {group = #tp.group<"tp", [[0, 1], [2]]>}

// -----

// expected-error @below {{expected a list of ranks, like the elements before}}
func.func private @rank_after_list() attributes {group = #tp.group<"tp", [[0, 1], 2]>}

// -----

// expected-error @below {{expected a rank, like the elements before}}
func.func private @list_after_rank() attributes {group = #tp.group<"tp", [0, [1, 2]]>}

// -----

// expected-error @below {{expected an ascending range of ranks below 1048576}}
func.func private @descending_range() attributes {group = #tp.group<"0", [3 to 1]>}

// -----

// expected-error @below {{expected an ascending range of ranks below 1048576}}
func.func private @endless_range() attributes {group = #tp.group<"0", [0 to 9000000000]>}

// -----

// expected-error @below {{group "0": rank 9000000000 is too large}}
func.func private @far_rank() attributes {group = #tp.group<"0", [9000000000]>}

// -----

// expected-error @below {{group "0": rank 2 is listed twice}}
func.func private @range_twice() attributes {group = #tp.group<"0", [0 to 2, 2 to 3]>}

// -----

// expected-error @below {{group "dp" has no members}}
func.func private @unknown_of_nobody() attributes {group = #tp.group<"dp", size = 0>}

// -----

// expected-error @below {{group "dp" has more than 1048576 ranks}}
func.func private @unknown_of_too_many() attributes {group = #tp.group<"dp", size = 2000000>}

// -----

// expected-error @below {{expected string}}
func.func private @nameless() attributes {group = #tp.group<[0, 1]>}

// -----

// expected-error @below {{layout has 1 strides for a tensor of rank 2}}
func.func private @number_of_strides(tensor<4x2xf32, #tp.layout<strides = [1]>>)

// -----

// expected-error @below {{layout has 1 sizes for a tensor of rank 2}}
func.func private @number_of_sizes(tensor<?x2xf32, #tp.layout<[s0] sizes = [s0]>>)

// -----

// expected-error @below {{a tensor with dynamic dims needs `sizes` in its layout}}
func.func private @no_sizes(tensor<?x2xf32, #tp.layout<strides = [2, 1]>>)

// -----

// expected-error @below {{layout and shape have different sizes for dim 1}}
func.func private @other_size(tensor<?x2xf32, #tp.layout<[s0] sizes = [s0, 3]>>)

// -----

// expected-error @below {{layout and shape have different sizes for dim 0}}
func.func private @static_dim_of_symbolic_size(tensor<4x2xf32, #tp.layout<[s0] sizes = [s0, 2]>>)

// -----

// expected-error @below {{layout and shape have different sizes for dim 0}}
func.func private @dynamic_dim_of_static_size(tensor<?x2xf32, #tp.layout<sizes = [4, 2]>>)

// -----

// expected-error @below {{use of undeclared identifier}}
func.func private @unlisted_symbol(tensor<?xf32, #tp.layout<[s0] sizes = [s1]>>)

// -----

// expected-error @below {{expected 'strides'}}
func.func private @layout_of_nothing(tensor<4xf32, #tp.layout<>>)

// -----

// expected-error @below {{a layout must state sizes or strides; a static dense tensor has no layout}}
func.func private @empty_lists(tensor<4xf32, #tp.layout<strides = []>>)

// -----

// expected-error @below {{'scattered' is not a placement; expected replicated, shard(DIM), partial(sum|avg|max|min|product) or varying}}
func.func private @unknown_placement() attributes {placement = #tp.placement<scattered>}

// -----

// expected-error @below {{'shard' is not a placement}}
func.func private @shard_of_no_dim() attributes {placement = #tp.placement<shard>}

// -----

// expected-error @below {{'shard(-1)' is not a placement}}
func.func private @shard_of_negative_dim() attributes {placement = #tp.placement<shard(-1)>}

// -----

// expected-error @below {{'partial(0)' is not a placement}}
func.func private @partial_of_a_dim() attributes {placement = #tp.placement<partial(0)>}

// -----

// expected-error @below {{'partial(median)' is not a placement}}
func.func private @partial_of_unknown_reduction() attributes {placement = #tp.placement<partial(median)>}

// -----

// expected-error @below {{'replicated(0)' is not a placement}}
func.func private @replicated_along_a_dim() attributes {placement = #tp.placement<replicated(0)>}

// -----

// expected-error @below {{attribute 'tp.value' must be a number}}
func.func @value_is_text(%arg0: tensor<i64> {tp.value = "three"}) {
  return
}

// -----

// expected-error @below {{attribute 'tp.value' requires a tensor with one element}}
func.func @value_of_many(%arg0: tensor<4xi64> {tp.value = 3 : i64}) {
  return
}

// -----

func.func @value_of_one(%arg0: tensor<1x1xi64> {tp.value = 3 : i64}) {
  return
}
