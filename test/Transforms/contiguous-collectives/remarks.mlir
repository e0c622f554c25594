// Kinds, names and category of the remarks, and how they are filtered.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=contiguous-collectives -o %t 2>&1 | FileCheck %s --check-prefixes=PASSED,MISSED,ANALYSIS
// RUN: commute-opt %s --contiguous-collectives --remarks-filter-missed=contiguous-collectives -o %t 2>&1 | FileCheck %s --check-prefix=MISSED --implicit-check-not="[Passed]" --implicit-check-not="[Analysis]"
// RUN: commute-opt %s --contiguous-collectives -o %t 2>&1 | count 0
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=another-pass -o %t 2>&1 | count 0

// ANALYSIS: [[#@LINE+12]]:8: remark: [Analysis] dense | Category:contiguous-collectives | Function=f | Remark="operand 0 is dense: the graph declares it as a dense input"
// PASSED: [[#@LINE+12]]:8: remark: [Passed] copy | Category:contiguous-collectives | Function=f | Remark="copied operand 0 to dense memory: its strides are [1, 4]"
// PASSED: [[#@LINE+12]]:8: remark: [Passed] shared-copy | Category:contiguous-collectives | Function=f
// PASSED: [[#@LINE+12]]:8: remark: [Passed] write-dense | Category:contiguous-collectives | Function=f
// MISSED: [[#@LINE+12]]:8: remark: [Missed] memory-write | Category:contiguous-collectives | Function=f
// MISSED-SAME: Suggestion="use the functional form of the collective"
func.func @f(%d: tensor<4x8xf32>, %t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %map = tp.map neg(%t) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  %cast = tp.cast %t : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xbf16, #tp.layout<strides = [1, 4]>>



  %0 = tp.all_gather %d gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  %1 = tp.all_gather %map gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  %2 = tp.all_gather %map gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  %3 = tp.all_gather %cast gather_axis 0 group <"0", [0, 1]> : tensor<4x8xbf16, #tp.layout<strides = [1, 4]>> -> tensor<8x8xbf16>
  %4 = tp.call "all_reduce_"(%t) arguments "" dense [0] mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  return
}
