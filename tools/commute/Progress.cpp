//===- Progress.cpp - stages of long work -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include "OutputSettings.h"
#include "SafeOutput.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

using namespace commute;
using namespace commute::tool;

static bool drawsLines() {
  return !isQuiet() && llvm::sys::Process::StandardErrIsDisplayed() &&
         llvm::sys::Process::GetEnv("TERM").value_or("") != "dumb";
}

Progress::Progress(std::string what, bool draws) : what(std::move(what)) {
  if (!draws || !drawsLines())
    return;
  painter = std::thread([this] {
    std::unique_lock lock(mutex);
    // Short stages show nothing.
    auto next = std::chrono::milliseconds(1000);
    while (!ended.wait_for(lock, next, [&] { return isDone; })) {
      draw();
      isDrawn = true;
      next = std::chrono::milliseconds(200);
    }
  });
}

Progress::~Progress() {
  if (painter.joinable()) {
    {
      std::lock_guard lock(mutex);
      isDone = true;
    }
    ended.notify_one();
    painter.join();
    if (isDrawn)
      llvm::errs() << "\r\x1b[K";
  }
  if (isVerbose())
    safeErrs() << "commute: " << what
               << llvm::formatv(": {0:f3} s\n", getSeconds());
}

void Progress::update(double newPart, llvm::StringRef newDetail) {
  std::lock_guard lock(mutex);
  part = std::min(std::max(newPart, 0.0), 1.0);
  detail = newDetail.str();
}

double Progress::getSeconds() const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Progress::draw() const {
  double seconds = getSeconds();
  std::string line = "commute: " + what + " ";
  if (part > 0) {
    constexpr int width = 24;
    int done = static_cast<int>(part * width);
    line += "[" + std::string(done, '#') + std::string(width - done, '.') +
            llvm::formatv("] {0,3:f0} %, about {1:f0} s left", 100 * part,
                          seconds * (1 - part) / part)
                .str();
  } else {
    line += llvm::formatv("... {0:f0} s", seconds).str();
  }
  if (!detail.empty())
    line += ", " + detail;
  // A longer line would wrap, and could not be erased.
  llvm::errs() << "\r\x1b[K";
  safeErrs() << llvm::StringRef(line).take_front(79);
}
