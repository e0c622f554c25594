//===- Progress.h - stages of long work -------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_PROGRESS_H
#define COMMUTE_TOOLS_COMMUTE_PROGRESS_H

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace commute::tool {

/// A stage of a command. If it takes longer than a second, a terminal shows a
/// bar with an estimate of the remaining time, or the time so far where the
/// part that is done is unknown. The line is erased at the end. With -v, the
/// time of the stage is printed.
class Progress {
public:
  /// With `draws` false, only -v shows the stage: something in it has a bar.
  explicit Progress(std::string what, bool draws = true);
  ~Progress();

  /// Sets the part that is done, from 0 to 1, and what is done now.
  void update(double part, llvm::StringRef detail = "");

  Progress(const Progress &) = delete;

private:
  using Clock = std::chrono::steady_clock;

  void draw() const;
  double getSeconds() const;

  const std::string what;
  const Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::condition_variable ended;
  bool isDone = false;
  bool isDrawn = false;
  double part = 0;
  std::string detail;
  /// Draws the line; only on a terminal.
  std::thread painter;
};

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_PROGRESS_H
