// Rows are gathered for two products, as before the query and the gate of a layer.
func.func @main(%x: tensor<2048x8192xbf16> {tp.name = "x"},
                %a: tensor<8192x7168xbf16> {tp.name = "a", tp.kind = "parameter", tp.parameter = "a"},
                %b: tensor<8192x7168xbf16> {tp.name = "b", tp.kind = "parameter", tp.parameter = "b"})
    -> (tensor<8192x7168xbf16>, tensor<8192x7168xbf16>) {
  %0 = tp.all_gather %x gather_axis 0 group <"tp", [0, 1, 2, 3]> : tensor<2048x8192xbf16> -> tensor<8192x8192xbf16> loc("gathered")
  %1 = tp.matmul %0, %a : (tensor<8192x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<8192x7168xbf16> loc("gate")
  %2 = tp.matmul %0, %b : (tensor<8192x8192xbf16>, tensor<8192x7168xbf16>) -> tensor<8192x7168xbf16> loc("up")
  return %1, %2 : tensor<8192x7168xbf16>, tensor<8192x7168xbf16>
}
