// When parts pay: by price, by the incumbent's rule, always, or only where no
// sum is made in another order.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute opt %t/narrow.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=NARROW
// RUN: commute opt %t/wide.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=WIDE
// RUN: commute opt %t/narrow.mlir -o %t/out.mlir --passes='split-linear{margin=1}' | FileCheck %s --check-prefix=MARGIN
// RUN: commute opt %t/wide.mlir -o %t/out.mlir --policy=always --passes=split-linear | FileCheck %s --check-prefix=ALWAYS
// RUN: commute opt %t/narrow.mlir -o %t/out.mlir --exact-rounding --passes=split-linear | FileCheck %s --check-prefix=EXACT
// RUN: commute opt %t/exact.mlir -o - --quiet --policy=always --exact-rounding --passes=split-linear | FileCheck %s --check-prefix=EXACTLY
// RUN: commute opt %t/together.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=TOGETHER
// RUN: commute opt %t/kept.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=KEPT
// RUN: commute opt %t/simple.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=SIMPLE
// RUN: commute opt %t/last.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=LAST
// RUN: commute opt %t/gradient.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=GRADIENT
// RUN: commute opt %t/gathered.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=GATHERED
// RUN: commute opt %t/gathered-wide.mlir -o %t/out.mlir --passes=split-linear | FileCheck %s --check-prefix=GATHERED-WIDE
// RUN: not commute opt %t/wide.mlir -o %t/out.mlir --passes='split-linear{policy=seldom}' 2>&1 | FileCheck %s --check-prefix=POLICY

// NARROW: applied {{.*}}split into a sum of 3 products along the contraction dimension; {{.*}} us before, {{.*}} us after on h100x8; numerics: the running sum of 3 products is rounded to bf16 after each product
// WIDE: refused {{.*}}not split: {{.*}} us rewritten, {{.*}} us unchanged on h100x8
// MARGIN: refused {{.*}}not split: {{.*}} us rewritten, 
// ALWAYS: applied {{.*}}split into a sum of 3 products
// EXACT: refused {{.*}}not split: the rewrite would round its sum in a different order, which exact-rounding forbids
// TOGETHER-COUNT-2: applied {{.*}}, for all users of the same parts together
// TOGETHER: proof: equivalent
// KEPT: refused {{.*}}not split: {{.*}} us rewritten, {{.*}}; tp.map needs the whole value
// SIMPLE: applied {{.*}}a part that several rows share is multiplied once
// LAST: applied {{.*}}reduced to 1 product that computes only the slice that is used
// GRADIENT: refused {{.*}}not split: {{.*}} us rewritten, 
// GATHERED: applied {{.*}}split into a sum of 3 products along the contraction dimension, 2 of them computed by each rank on its own shard; {{.*}} us before, {{.*}} us after on h100x8; numerics: each rank's partial sum is rounded before the all_reduce
// GATHERED: proof: equivalent on 8 ranks
// GATHERED-WIDE: refused {{.*}}not split: {{.*}} us rewritten, 
// POLICY: split-linear: unknown policy 'seldom'; expected always, profitable or upstream

// What keeps every sum: zeros left out, and products side by side.
// EXACTLY-LABEL: func.func @main
// EXACTLY-NOT: tp.concat
// EXACTLY-COUNT-3: tp.matmul
// EXACTLY-NOT: tp.matmul

//--- narrow.mlir
// Many rows, few columns: what is joined is more than what is added.
module {
  func.func @main(%a: tensor<1048576x128xbf16>, %b: tensor<1048576x128xbf16>, %c: tensor<1048576x128xbf16>, %w: tensor<64x384xbf16>) -> tensor<1048576x64xbf16> {
    %x = tp.concat %a, %b, %c dim 1 : (tensor<1048576x128xbf16>, tensor<1048576x128xbf16>, tensor<1048576x128xbf16>) -> tensor<1048576x384xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<1048576x384xbf16>, tensor<64x384xbf16>) -> tensor<1048576x64xbf16>
    return %y : tensor<1048576x64xbf16>
  }
}

//--- wide.mlir
module {
  func.func @main(%a: tensor<1048576x128xbf16>, %b: tensor<1048576x128xbf16>, %c: tensor<1048576x128xbf16>, %w: tensor<512x384xbf16>) -> tensor<1048576x512xbf16> {
    %x = tp.concat %a, %b, %c dim 1 : (tensor<1048576x128xbf16>, tensor<1048576x128xbf16>, tensor<1048576x128xbf16>) -> tensor<1048576x384xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<1048576x384xbf16>, tensor<512x384xbf16>) -> tensor<1048576x512xbf16>
    return %y : tensor<1048576x512xbf16>
  }
}

//--- exact.mlir
module {
  func.func @main(%a: tensor<8x4xbf16>, %w: tensor<16x6xbf16>, %r: tensor<3x16xf32>, %s: tensor<2x16xf32>, %v: tensor<16x2xf32>) -> (tensor<8x16xbf16>, tensor<5x2xf32>) {
    %z = tp.constant 0.0 : bf16 -> tensor<8x2xbf16>
    %x = tp.concat %a, %z dim 1 : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<8x6xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<8x6xbf16>, tensor<16x6xbf16>) -> tensor<8x16xbf16>
    %p = tp.concat %r, %s dim 0 : (tensor<3x16xf32>, tensor<2x16xf32>) -> tensor<5x16xf32>
    %q = tp.matmul %p, %v : (tensor<5x16xf32>, tensor<16x2xf32>) -> tensor<5x2xf32>
    return %y, %q : tensor<8x16xbf16>, tensor<5x2xf32>
  }
}

//--- together.mlir
// The linear and the gradient of its weight: the parts need not be joined for
// either.
module {
  func.func @main(%a: tensor<1048576x128xbf16>, %b: tensor<1048576x128xbf16>, %w: tensor<64x256xbf16>, %dy: tensor<64x1048576xbf16>) -> (tensor<1048576x64xbf16>, tensor<64x256xbf16>) {
    %x = tp.concat %a, %b dim 1 : (tensor<1048576x128xbf16>, tensor<1048576x128xbf16>) -> tensor<1048576x256xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<1048576x256xbf16>, tensor<64x256xbf16>) -> tensor<1048576x64xbf16>
    %d = tp.matmul %dy, %x : (tensor<64x1048576xbf16>, tensor<1048576x256xbf16>) -> tensor<64x256xbf16>
    return %y, %d : tensor<1048576x64xbf16>, tensor<64x256xbf16>
  }
}

//--- kept.mlir
// The twin: with another reader nothing is saved.
module {
  func.func @main(%a: tensor<1048576x128xbf16>, %b: tensor<1048576x128xbf16>, %w: tensor<64x256xbf16>) -> (tensor<1048576x64xbf16>, tensor<1048576x256xbf16>) {
    %x = tp.concat %a, %b dim 1 : (tensor<1048576x128xbf16>, tensor<1048576x128xbf16>) -> tensor<1048576x256xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<1048576x256xbf16>, tensor<64x256xbf16>) -> tensor<1048576x64xbf16>
    %s = tp.map mul(%x, %x) : (tensor<1048576x256xbf16>, tensor<1048576x256xbf16>) -> tensor<1048576x256xbf16>
    return %y, %s : tensor<1048576x64xbf16>, tensor<1048576x256xbf16>
  }
}

//--- simple.mlir
// Less arithmetic pays although the concatenation stays.
module {
  func.func @main(%a: tensor<65536x2048xbf16>, %b: tensor<1x2048xbf16>, %w: tensor<4096x4096xbf16>) -> (tensor<65536x4096xbf16>, tensor<65536x4096xbf16>) {
    %r = tp.broadcast %b : tensor<1x2048xbf16> -> tensor<65536x2048xbf16, #tp.layout<strides = [0, 1]>>
    %x = tp.concat %a, %r dim 1 : (tensor<65536x2048xbf16>, tensor<65536x2048xbf16, #tp.layout<strides = [0, 1]>>) -> tensor<65536x4096xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
    return %y, %x : tensor<65536x4096xbf16>, tensor<65536x4096xbf16>
  }
}

//--- last.mlir
module {
  func.func @main(%a: tensor<1x4096x4096xbf16>, %w: tensor<128256x4096xbf16>) -> tensor<1x1x128256xbf16> {
    %y = tp.matmul %a, %w transpose_rhs : (tensor<1x4096x4096xbf16>, tensor<128256x4096xbf16>) -> tensor<1x4096x128256xbf16>
    %s = tp.slice %y dim 1 start 4095 step 1 : tensor<1x4096x128256xbf16> -> tensor<1x1x128256xbf16, #tp.layout<strides = [525336576, 128256, 1]>>
    %r = tp.copy %s : tensor<1x1x128256xbf16, #tp.layout<strides = [525336576, 128256, 1]>> -> tensor<1x1x128256xbf16>
    return %r : tensor<1x1x128256xbf16>
  }
}

//--- gradient.mlir
// One product is faster than two, whose slices are views.
module {
  func.func @main(%dy: tensor<4096x64xbf16>, %w: tensor<64x256xbf16>) -> (tensor<4096x128xbf16>, tensor<4096x128xbf16>) {
    %dx = tp.matmul %dy, %w : (tensor<4096x64xbf16>, tensor<64x256xbf16>) -> tensor<4096x256xbf16>
    %p = tp.slice %dx dim 1 start 0 step 1 : tensor<4096x256xbf16> -> tensor<4096x128xbf16, #tp.layout<strides = [256, 1]>>
    %q = tp.slice %dx dim 1 start 128 step 1 : tensor<4096x256xbf16> -> tensor<4096x128xbf16, #tp.layout<strides = [256, 1]>>
    %r = tp.map silu(%p) : (tensor<4096x128xbf16, #tp.layout<strides = [256, 1]>>) -> tensor<4096x128xbf16>
    %s = tp.map silu(%q) : (tensor<4096x128xbf16, #tp.layout<strides = [256, 1]>>) -> tensor<4096x128xbf16>
    return %r, %s : tensor<4096x128xbf16>, tensor<4096x128xbf16>
  }
}

//--- gathered.mlir
// One sum of narrow products instead of two wide gathers.
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<4096x512xbf16>, %u: tensor<4096x512xbf16>, %r: tensor<4096x512xbf16>, %w: tensor<1024x8704xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4096x1024xbf16> {
    %g = tp.all_gather %t gather_axis 1 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4096x512xbf16> -> tensor<4096x4096xbf16>
    %h = tp.all_gather %u gather_axis 1 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4096x512xbf16> -> tensor<4096x4096xbf16>
    %x = tp.concat %g, %h, %r dim 1 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x512xbf16>) -> tensor<4096x8704xbf16>
    %y = tp.matmul %x, %w transpose_rhs : (tensor<4096x8704xbf16>, tensor<1024x8704xbf16>) -> tensor<4096x1024xbf16>
    return %y : tensor<4096x1024xbf16>
  }
}

//--- gathered-wide.mlir
// The twin: a narrow gather instead of a sum of wide products.
module attributes {tp.rank = 0 : i64, tp.rank_specific} {
  func.func @main(%t: tensor<4096x16xbf16>, %w: tensor<8192x128xbf16> {tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<4096x8192xbf16> {
    %g = tp.all_gather %t gather_axis 1 group <"0", [0, 1, 2, 3, 4, 5, 6, 7]> : tensor<4096x16xbf16> -> tensor<4096x128xbf16>
    %y = tp.matmul %g, %w transpose_rhs : (tensor<4096x128xbf16>, tensor<8192x128xbf16>) -> tensor<4096x8192xbf16>
    return %y : tensor<4096x8192xbf16>
  }
}
