//===- KernelThreads.cpp - kernels on several threads -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// oneDNN's products run on the threads of its OpenMP library, which spin while
// they wait for the next product and would compete with threads of our own. All
// other kernels therefore run on the same threads. The library (GCC's or
// LLVM's) is known only once it is loaded. Both provide the entry point that
// code compiled by GCC calls. Without one, kernels run in the calling thread.
//
//===----------------------------------------------------------------------===//

#include "KernelThreads.h"

#include <algorithm>
#include <dlfcn.h>

using namespace commute;

namespace {
struct OpenMp {
  void (*setNumThreads)(int) = nullptr;
  int (*getMaxThreads)() = nullptr;
  int (*getNumThreads)() = nullptr;
  int (*getThreadNumber)() = nullptr;
  void (*runParallel)(void (*)(void *), void *, unsigned, unsigned) = nullptr;

  bool isComplete() const {
    return setNumThreads && getMaxThreads && getNumThreads && getThreadNumber &&
           runParallel;
  }
};

struct SharedWork {
  int64_t count;
  llvm::function_ref<void(int64_t, int64_t)> visit;
};
} // namespace

template <typename Function>
static void find(const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

static const OpenMp &getOpenMp() {
  static const OpenMp openMp = [] {
    OpenMp found;
    find("omp_set_num_threads", found.setNumThreads);
    find("omp_get_max_threads", found.getMaxThreads);
    find("omp_get_num_threads", found.getNumThreads);
    find("omp_get_thread_num", found.getThreadNumber);
    find("GOMP_parallel", found.runParallel);
    return found;
  }();
  return openMp;
}

void runtime::setNumKernelThreads(unsigned count) {
  if (getOpenMp().setNumThreads)
    getOpenMp().setNumThreads(static_cast<int>(count));
}

void runtime::forEachPart(int64_t count, int64_t least,
                          llvm::function_ref<void(int64_t, int64_t)> visit) {
  const OpenMp &openMp = getOpenMp();
  int64_t numParts = 1;
  if (openMp.isComplete())
    numParts = std::min<int64_t>(openMp.getMaxThreads(),
                                 count / std::max<int64_t>(least, 1));
  if (numParts <= 1) {
    visit(0, count);
    return;
  }
  SharedWork work{count, visit};
  openMp.runParallel(
      [](void *data) {
        auto &[count, visit] = *static_cast<SharedWork *>(data);
        // There may be fewer threads than requested.
        int64_t numThreads = getOpenMp().getNumThreads();
        int64_t thread = getOpenMp().getThreadNumber();
        int64_t size = count / numThreads, rest = count % numThreads;
        int64_t begin = thread * size + std::min(thread, rest);
        visit(begin, begin + size + (thread < rest ? 1 : 0));
      },
      &work, static_cast<unsigned>(numParts), 0);
}
