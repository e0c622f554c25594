// A collective that gets a transposed view, which PyTorch would send as if it were dense.
func.func @main(%x: tensor<2048x1024xbf16> {tp.name = "x"}) -> tensor<2048x2048xbf16> {
  %0 = tp.permute %x [1, 0] : tensor<2048x1024xbf16> -> tensor<1024x2048xbf16, #tp.layout<strides = [1, 1024]>> loc("turned")
  %1 = tp.all_gather %0 gather_axis 0 group <"tp", [0, 1]> : tensor<1024x2048xbf16, #tp.layout<strides = [1, 1024]>> -> tensor<2048x2048xbf16> loc("gathered")
  return %1 : tensor<2048x2048xbf16>
}
