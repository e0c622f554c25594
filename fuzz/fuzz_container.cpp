//===- fuzz_container.cpp - hostile zip files -----------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Container.h"

#include "llvm/Support/ErrorHandling.h"

using namespace commute::archive;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto container = Container::openBytes(bytes, "input.pt2");
  if (!container) {
    llvm::consumeError(container.takeError());
    return 0;
  }
  constexpr uint64_t maxBytes = 1 << 20;
  for (const Record &record : (*container)->records()) {
    if ((*container)->find(record.name) != &record)
      llvm::report_fatal_error("a record is not found by its name");
    auto content = (*container)->read(record.name, maxBytes);
    if (!content) {
      llvm::consumeError(content.takeError());
      continue;
    }
    if (content->size() != record.size || content->size() > maxBytes)
      llvm::report_fatal_error("a record has not the size it states");
  }
  return 0;
}
