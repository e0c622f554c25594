//===- Interpolation.h - interpolation of measured curves -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TARGET_INTERPOLATION_H
#define COMMUTE_LIB_TARGET_INTERPOLATION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <cmath>
#include <utility>

namespace commute::target {

/// Evaluates the line through (x0, y0) and (x1, y1) at x, with logarithmic
/// axes.
inline double interpolateLogarithms(double x0, double y0, double x1, double y1,
                                    double x) {
  if (x0 == x1)
    return y0;
  double part = (std::log(x) - std::log(x0)) / (std::log(x1) - std::log(x0));
  return std::exp(std::log(y0) + part * (std::log(y1) - std::log(y0)));
}

/// Interpolates between the two points around x; extrapolates from the nearest
/// two. `points` must have at least two elements and be ascending in x.
inline double
interpolateLogarithms(llvm::ArrayRef<std::pair<double, double>> points,
                      double x) {
  assert(points.size() >= 2 && "no two points to interpolate between");
  assert(llvm::is_sorted(points, llvm::less_first()) && "points ascend in x");
  size_t next = 1;
  while (next + 1 < points.size() && points[next].first < x)
    ++next;
  auto [x0, y0] = points[next - 1];
  auto [x1, y1] = points[next];
  return interpolateLogarithms(x0, y0, x1, y1, x);
}

} // namespace commute::target

#endif // COMMUTE_LIB_TARGET_INTERPOLATION_H
