//===- Target.cpp - machines that programs are priced for -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/Target.h"

#include "EmbeddedTargets.h"
#include "Interpolation.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <map>
#include <mutex>

using namespace commute;
using namespace commute::target;

double MatmulEfficiency::getFraction(double secondsAtPeak) const {
  if (points.size() == 1 || secondsAtPeak >= points.back().first)
    return points.back().second;
  return interpolateLogarithms(points, secondsAtPeak);
}

/// Returns the names under which a target may state the rate for these
/// elements: the element type's own name, then wider types.
static llvm::SmallVector<llvm::StringRef, 4> getRateNames(mlir::Type type) {
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(type))
    type = complex.getElementType();
  if (type.isF64())
    return {"f64"};
  if (type.isBF16())
    return {"bf16", "f16", "f32", "f64"};
  if (type.isF16())
    return {"f16", "bf16", "f32", "f64"};
  if (mlir::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() <= 8)
    return {"f8", "bf16", "f16", "f32", "f64"};
  if (type.isInteger(8))
    return {"i8", "bf16", "f16", "f32", "f64"};
  return {"f32", "f64"};
}

double Target::getMatmulRate(mlir::Type elementType) const {
  for (llvm::StringRef rateName : getRateNames(elementType))
    if (auto found = matmulFlopsPerSecond.find(rateName.str());
        found != matmulFlopsPerSecond.end())
      return found->second.value;
  return vectorFlopsPerSecond.value;
}

double Target::getMatmulSeconds(double flops, mlir::Type elementType) const {
  if (flops <= 0)
    return 0;
  double secondsAtPeak = flops / getMatmulRate(elementType);
  return secondsAtPeak / matmulEfficiency.getFraction(secondsAtPeak);
}

double Target::getMemorySeconds(double bytes) const {
  return bytes / (memoryBytesPerSecond.value * memoryEfficiency.value);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static Target parseBuiltin(const EmbeddedFile &embedded) {
  llvm::Expected<Target> target = parseTarget(embedded.text, embedded.name);
  if (!target)
    llvm::report_fatal_error(target.takeError());
  return std::move(*target);
}

llvm::ArrayRef<Target> target::getBuiltinTargets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> parsed;
    for (const EmbeddedFile &embedded : getEmbeddedTargets())
      parsed.push_back(parseBuiltin(embedded));
    return parsed;
  }();
  return targets;
}

std::string target::getLocalTargetPath() {
  llvm::SmallString<128> path;
  if (auto config = llvm::sys::Process::GetEnv("XDG_CONFIG_HOME");
      config && !config->empty())
    path = *config;
  else if (llvm::sys::path::home_directory(path))
    llvm::sys::path::append(path, ".config");
  llvm::sys::path::append(path, "commute", "local.json");
  return path.str().str();
}

static llvm::Expected<Target> readTarget(llvm::StringRef path) {
  // A target file has a few kilobytes; reject anything much larger.
  constexpr uint64_t largestFile = 1 << 20;
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return llvm::createStringError(path + ": " + error.message());
  if (!llvm::sys::fs::is_regular_file(status) || status.getSize() > largestFile)
    return llvm::createStringError(
        path + ": a target file must be JSON text of at most 1 MiB");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::createStringError(path + ": " + buffer.getError().message());
  return parseTarget((*buffer)->getBuffer(), path);
}

/// Parses only the requested target, once: passes load a target on every run.
static const Target &getBuiltin(const EmbeddedFile &embedded) {
  static std::mutex mutex;
  static std::map<std::string, Target> parsed;
  std::lock_guard lock(mutex);
  auto known = parsed.find(embedded.name.str());
  if (known == parsed.end())
    known =
        parsed.try_emplace(embedded.name.str(), parseBuiltin(embedded)).first;
  return known->second;
}

static llvm::Expected<Target> loadMachine(llvm::StringRef nameOrPath) {
  for (const EmbeddedFile &embedded : getEmbeddedTargets())
    if (embedded.name == nameOrPath)
      return getBuiltin(embedded);
  if (nameOrPath.ends_with(".json"))
    return readTarget(nameOrPath);
  if (nameOrPath == "local") {
    std::string path = getLocalTargetPath();
    if (!llvm::sys::fs::exists(path))
      return llvm::createStringError("target local: " + path +
                                     " does not exist; run 'commute calibrate' "
                                     "to measure this machine and write it");
    return readTarget(path);
  }
  std::string known;
  for (const EmbeddedFile &embedded : getEmbeddedTargets())
    known += embedded.name.str() + ", ";
  return llvm::createStringError(
      "unknown target '" + nameOrPath + "'; known targets are " + known +
      "local (measured by 'commute calibrate'), and files by a path that ends "
      "with .json");
}

llvm::Expected<Target> target::loadTarget(llvm::StringRef nameOrPath) {
  llvm::StringRef machine = nameOrPath;
  bool isCompiled = machine.consume_back(":compiled");
  if (!isCompiled)
    machine.consume_back(":eager");
  llvm::Expected<Target> target = loadMachine(machine);
  if (target && isCompiled) {
    target->fusesElementwise = true;
    target->name += ":compiled";
  }
  return target;
}
