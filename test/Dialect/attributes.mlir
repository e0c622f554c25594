// Text and bytecode forms of groups, layouts, placements and opaque values.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func private @groups() attributes {
// CHECK-SAME: axis = #tp.group<"tp", {{\[\[}}0, 1], [2, 3]]>
// CHECK-SAME: axis_of_one = #tp.group<"dp", {{\[\[}}0], [1]]>
// CHECK-SAME: escaped = #tp.group<"a\22b", [0]>
// CHECK-SAME: plain = #tp.group<"0", [0, 1, 2, 3]>
// One group in a list is a plain group.
// CHECK-SAME: plain_in_list = #tp.group<"0", [0, 1]>
// Long ranges are abbreviated.
// CHECK-SAME: range = #tp.group<"world", [0 to 31, 40, 41]>
// CHECK-SAME: ranges = #tp.group<"axis", {{\[\[}}0 to 63], [64 to 127]]>
// CHECK-SAME: reordered = #tp.group<"", [3, 1, 2]>
// CHECK-SAME: short_range = #tp.group<"0", [0, 1, 2, 3]>
// CHECK-SAME: unknown = #tp.group<"dp", size = 2>
func.func private @groups() attributes {
  plain = #tp.group<"0", [0, 1, 2, 3]>,
  plain_in_list = #tp.group<"0", [[0, 1]]>,
  axis = #tp.group<"tp", [[0, 1], [2, 3]]>,
  axis_of_one = #tp.group<"dp", [[0], [1]]>,
  reordered = #tp.group<"", [3, 1, 2]>,
  escaped = #tp.group<"a\22b", [0]>,
  range = #tp.group<"world", [0 to 31, 40 to 41]>,
  ranges = #tp.group<"axis", [[0 to 63], [64 to 127]]>,
  short_range = #tp.group<"0", [0 to 3]>,
  unknown = #tp.group<"dp", size = 2>
}

// CHECK-LABEL: func.func private @static_layouts
// CHECK-SAME: tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
// CHECK-SAME: tensor<4x2xf32, #tp.layout<strides = ?>>
// CHECK-SAME: tensor<4x2xf32, #tp.layout<[s0] strides = [s0, 1]>>
func.func private @static_layouts(
  tensor<4x2xf32, #tp.layout<strides = [1, 4]>>,
  tensor<4x2xf32, #tp.layout<strides = ?>>,
  tensor<4x2xf32, #tp.layout<[s0] strides = [s0, 1]>>)

// CHECK-LABEL: func.func private @symbolic_layouts
// CHECK-SAME: tensor<?x64xf32, #tp.layout<[s77] sizes = [s77 * 8, 64]>>
// CHECK-SAME: tensor<?x64xf32, #tp.layout<[s77] sizes = [s77 * 8, 64], strides = [1, s77 * 8]>>
// CHECK-SAME: tensor<?x64xf32, #tp.layout<[s77] sizes = [s77, 64], strides = ?>>
// CHECK-SAME: tensor<?x?xf32, #tp.layout<[batch, length] sizes = [batch * length, length + 1]>>
// CHECK-SAME: tensor<?x?x?xf32, #tp.layout<[u0] sizes = [u0 floordiv 2, u0 ceildiv 2, u0 mod 2]>>
// CHECK-SAME: tensor<?xf32, #tp.layout<[u0] sizes = [(u0 + 3) * 2]>>
func.func private @symbolic_layouts(
  tensor<?x64xf32, #tp.layout<[s77] sizes = [s77 * 8, 64]>>,
  tensor<?x64xf32, #tp.layout<[s77] sizes = [8 * s77, 64], strides = [1, s77 * 8]>>,
  tensor<?x64xf32, #tp.layout<[s77] sizes = [s77, 64], strides = ?>>,
  tensor<?x?xf32, #tp.layout<[batch, length] sizes = [batch * length, length + 1]>>,
  tensor<?x?x?xf32, #tp.layout<[u0] sizes = [u0 floordiv 2, u0 ceildiv 2, u0 mod 2]>>,
  tensor<?xf32, #tp.layout<[u0] sizes = [(u0 + 3) * 2]>>)

// CHECK-LABEL: func.func private @placements
// CHECK-SAME: {tp.placements = {"0" = #tp.placement<replicated>}}
// CHECK-SAME: {tp.placements = {"0" = #tp.placement<shard(2)>}}
// CHECK-SAME: {tp.placements = {"0" = #tp.placement<varying>}}
func.func private @placements(
  tensor<4xf32> {tp.placements = {"0" = #tp.placement<replicated>}},
  tensor<1x1x4xf32> {tp.placements = {"0" = #tp.placement<shard(2)>}},
  tensor<4xf32> {tp.placements = {"0" = #tp.placement<varying>}})

// CHECK-LABEL: func.func private @partial_placements() attributes {
// CHECK-SAME: a = #tp.placement<partial(sum)>, b = #tp.placement<partial(avg)>, c = #tp.placement<partial(max)>, d = #tp.placement<partial(min)>, e = #tp.placement<partial(product)>
func.func private @partial_placements() attributes {
  a = #tp.placement<partial(sum)>, b = #tp.placement<partial(avg)>,
  c = #tp.placement<partial(max)>, d = #tp.placement<partial(min)>,
  e = #tp.placement<partial(product)>
}

// CHECK-LABEL: func.func private @opaque(!tp.opaque) -> !tp.opaque
func.func private @opaque(!tp.opaque) -> !tp.opaque
