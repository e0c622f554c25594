// The gather of columns as PyTorch's tracing writes it: gathered along rows, split into the
// blocks of the ranks, and concatenated along columns.
func.func @main(%x: tensor<1024x2048xbf16> {tp.name = "x"},
                %w: tensor<4096x4096xbf16> {tp.name = "w", tp.kind = "parameter", tp.parameter = "w"})
    -> tensor<1024x4096xbf16> {
  %0 = tp.all_gather %x gather_axis 0 group <"tp", [0, 1]> : tensor<1024x2048xbf16> -> tensor<2048x2048xbf16> loc("gathered")
  %1 = tp.slice %0 dim 0 start 0 step 1 : tensor<2048x2048xbf16> -> tensor<1024x2048xbf16> loc("block_0")
  %2 = tp.slice %0 dim 0 start 1024 step 1 : tensor<2048x2048xbf16> -> tensor<1024x2048xbf16> loc("block_1")
  %3 = tp.concat %1, %2 dim 1 : (tensor<1024x2048xbf16>, tensor<1024x2048xbf16>) -> tensor<1024x4096xbf16> loc("joined")
  %4 = tp.matmul %3, %w : (tensor<1024x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1024x4096xbf16> loc("product")
  return %4 : tensor<1024x4096xbf16>
}
