// Dims of size 1 may have any stride: what replaces a returned value may state
// another.
// RUN: commute opt %s -o - --quiet --policy=always | FileCheck %s
// CHECK: func.func @main
// CHECK-SAME: -> tensor<1x4x4xf32> {
// CHECK: return {{.*}} : tensor<1x4x4xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<2x1x4xf32>, %y: tensor<1x1x4xf32> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<1x4x4xf32, #tp.layout<strides = [4, 4, 1]>> {
    %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<2x1x4xf32> -> tensor<4x1x4xf32>
    %1 = tp.permute %0 [1, 0, 2] : tensor<4x1x4xf32> -> tensor<1x4x4xf32, #tp.layout<strides = [4, 4, 1]>>
    %2 = tp.map sub(%1, %y) : (tensor<1x4x4xf32, #tp.layout<strides = [4, 4, 1]>>, tensor<1x1x4xf32>) -> tensor<1x4x4xf32, #tp.layout<strides = [4, 4, 1]>>
    return %2 : tensor<1x4x4xf32, #tp.layout<strides = [4, 4, 1]>>
  }
}
