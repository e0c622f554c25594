//===- ReplayMain.cpp - runs a fuzz target over kept inputs ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Stands in for libFuzzer's main where that is not built: feeds every file of
// the folders named on the command line to the target.
//
//===----------------------------------------------------------------------===//

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv) {
  unsigned count = 0;
  for (int i = 1; i < argc; ++i) {
    std::error_code code;
    for (llvm::sys::fs::directory_iterator file(argv[i], code), end;
         file != end && !code; file.increment(code)) {
      auto buffer = llvm::MemoryBuffer::getFile(file->path());
      if (!buffer) {
        llvm::errs() << file->path() << ": " << buffer.getError().message()
                     << "\n";
        return 1;
      }
      // A crash does not tell its input.
      llvm::outs() << file->path() << "\n";
      llvm::outs().flush();
      LLVMFuzzerTestOneInput(
          reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart()),
          (*buffer)->getBufferSize());
      ++count;
    }
    if (code) {
      llvm::errs() << argv[i] << ": " << code.message() << "\n";
      return 1;
    }
  }
  if (count == 0) {
    llvm::errs() << "no inputs found\n";
    return 1;
  }
  llvm::outs() << count << " inputs replayed\n";
  return 0;
}
