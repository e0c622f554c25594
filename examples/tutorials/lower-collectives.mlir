// A gather of columns, which PyTorch's collectives cannot express directly.
func.func @main(%x: tensor<1024x2048xbf16> {tp.name = "x"}) -> tensor<1024x4096xbf16> {
  %0 = tp.all_gather %x gather_axis 1 group <"tp", [0, 1]> : tensor<1024x2048xbf16> -> tensor<1024x4096xbf16> loc("gathered")
  return %0 : tensor<1024x4096xbf16>
}
