// What is said of one line of Python in each layer is said once, with the number of sites;
// -v says it of each site.
// RUN: commute opt %s -o %t.mlir --passes=contiguous-collectives | FileCheck %s
// RUN: commute opt %s -o %t.mlir --passes=contiguous-collectives -v 2>/dev/null | FileCheck %s --check-prefix=EACH
// RUN: commute opt %s -o %t.mlir --passes=contiguous-collectives --json | FileCheck %s --check-prefix=JSON

// CHECK: contiguous-collectives:
// CHECK-NEXT: applied gather (model.py:7) and 2 alike: copied operand 0 to dense memory
// Another line, and another reason.
// CHECK-NEXT: applied gather_3 (model.py:9): copied operand 0 to dense memory
// CHECK-NEXT: noted gather_4 (model.py:7): operand 0 is dense
// CHECK-NEXT: proof: equivalent on 2 ranks

// The program before and after, and the verdict at the end.
// CHECK: predicted on h100x8 before after
// CHECK-NEXT: step
// CHECK-NEXT: exposed communication
// CHECK-NEXT: activation memory
// CHECK-NEXT: collectives 5 5
// CHECK-NEXT: ops 5 9
// CHECK-NEXT: .mlir: equivalent on 2 ranks
// CHECK-NOT: {{.}}

// EACH: applied gather (model.py:7): copied
// EACH-NEXT: applied gather_1 (model.py:7): copied
// EACH-NEXT: applied gather_2 (model.py:7): copied
// EACH-NEXT: applied gather_3 (model.py:9): copied

// JSON-COUNT-5: "pass": "contiguous-collectives"

#strided = #tp.layout<strides = [1, 4]>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%a: tensor<4x8xf32, #strided> {tp.name = "a"}, %b: tensor<4x8xf32, #strided> {tp.name = "b"}, %c: tensor<4x8xf32, #strided> {tp.name = "c"}, %d: tensor<4x8xf32, #strided> {tp.name = "d"}, %e: tensor<4x8xf32> {tp.name = "e"}) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #strided> -> tensor<8x8xf32> loc("gather"("model.py":7:0))
    %1 = tp.all_gather %b gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #strided> -> tensor<8x8xf32> loc("gather_1"("model.py":7:0))
    %2 = tp.all_gather %c gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #strided> -> tensor<8x8xf32> loc("gather_2"("model.py":7:0))
    %3 = tp.all_gather %d gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #strided> -> tensor<8x8xf32> loc("gather_3"("model.py":9:0))
    %4 = tp.all_gather %e gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32> loc("gather_4"("model.py":7:0))
    return %0, %1, %2, %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
}
