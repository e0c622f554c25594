//===- Calibrate.cpp - measurement of this machine --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Calibration/Calibrate.h"

#include "Measurement.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <ctime>
#include <unistd.h>

using namespace commute;
using namespace commute::calibration;
using llvm::formatv;
using target::Quantity;

//===----------------------------------------------------------------------===//
// Machine description
//===----------------------------------------------------------------------===//

static std::string getProcessorName() {
  if (auto text = llvm::MemoryBuffer::getFileAsStream("/proc/cpuinfo")) {
    llvm::StringRef rest = (*text)->getBuffer();
    while (!rest.empty()) {
      auto [line, after] = rest.split('\n');
      auto [key, value] = line.split(':');
      if (key.trim() == "model name")
        return value.trim().str();
      rest = after;
    }
  }
  return "an unnamed processor";
}

static std::string getDate() {
  std::time_t now = std::time(nullptr);
  std::tm local{};
  char text[16] = "";
  if (localtime_r(&now, &local))
    std::strftime(text, sizeof(text), "%Y-%m-%d", &local);
  return text;
}

static double getMemoryBytes() {
  return double(sysconf(_SC_PHYS_PAGES)) * double(sysconf(_SC_PAGESIZE));
}

//===----------------------------------------------------------------------===//
// Measured programs
//===----------------------------------------------------------------------===//

/// Returns a function with `arguments` (types) that returns the result of the
/// last of `ops`.
static std::string makeProgram(llvm::ArrayRef<std::string> arguments,
                               llvm::ArrayRef<std::string> ops,
                               llvm::StringRef resultType) {
  std::string text = "func.func @main(";
  for (auto [index, type] : llvm::enumerate(arguments))
    text += formatv("{0}%a{1}: {2}", index ? ", " : "", index, type).str();
  text += formatv(") -> {0} {{\n", resultType).str();
  for (auto [index, op] : llvm::enumerate(ops))
    text += formatv("%{0} = {1}\n", index, op).str();
  return text +
         formatv("return %{0} : {1}\n}\n", ops.size() - 1, resultType).str();
}

/// Returns `count` elementwise ops, each applied to the previous result.
/// `function` has one operand, or a second one that is the argument.
static std::string makeChain(llvm::StringRef function, bool isBinary,
                             int64_t elements, unsigned count) {
  std::string type = formatv("tensor<{0}xf32>", elements).str();
  std::vector<std::string> ops;
  for (unsigned index = 0; index < count; ++index) {
    std::string before = index ? "%" + std::to_string(index - 1) : "%a0";
    ops.push_back(formatv(isBinary ? "tp.map {0}({1}, %a0) : ({2}, {2}) -> {2}"
                                   : "tp.map {0}({1}) : ({2}) -> {2}",
                          function, before, type)
                      .str());
  }
  return makeProgram({type}, ops, type);
}

/// Returns a linear layer on [rows, inner] with a weight [columns, inner].
static std::string makeMatmul(int64_t rows, int64_t columns, int64_t inner,
                              llvm::StringRef element) {
  auto getType = [&](int64_t first, int64_t second) {
    return formatv("tensor<{0}x{1}x{2}>", first, second, element).str();
  };
  std::string lhs = getType(rows, inner), rhs = getType(columns, inner),
              result = getType(rows, columns);
  return makeProgram({lhs, rhs},
                     {formatv("tp.matmul %a0, %a1 transpose_rhs : ({0}, {1}) "
                              "-> {2}",
                              lhs, rhs, result)
                          .str()},
                     result);
}

/// Returns the groups of `groupSize` consecutive ranks: "[[0, 1], [2, 3]]".
static std::string makeGroups(int64_t ranks, int64_t groupSize) {
  std::string text = "[";
  for (int64_t rank = 0; rank < ranks; ++rank) {
    if (rank % groupSize == 0)
      text += rank ? "], [" : "[";
    else
      text += ", ";
    text += std::to_string(rank);
  }
  return text + "]]";
}

/// Returns `count` independent collectives over a whole tensor of `elements`.
static std::string makeCollectives(tp::CommunicationKind kind, int64_t ranks,
                                   int64_t groupSize, int64_t elements,
                                   unsigned count) {
  auto getType = [](int64_t size) {
    return formatv("tensor<{0}xf32>", size).str();
  };
  std::string group =
      formatv("group <\"ranks\", {0}>", makeGroups(ranks, groupSize)).str();
  std::string operand = getType(elements), result = operand, op;
  switch (kind) {
  case tp::CommunicationKind::AllReduce:
    op = "tp.all_reduce avg %a0 " + group;
    break;
  case tp::CommunicationKind::AllGather:
    operand = getType(elements / groupSize);
    op = "tp.all_gather %a0 gather_axis 0 " + group;
    break;
  case tp::CommunicationKind::ReduceScatter:
    result = getType(elements / groupSize);
    op = "tp.reduce_scatter avg %a0 scatter_axis 0 " + group;
    break;
  case tp::CommunicationKind::AllToAll:
    op = "tp.all_to_all %a0 output_splits [] input_splits [] " + group;
    break;
  }
  op += " : " + operand + " -> " + result;
  return makeProgram({operand}, std::vector<std::string>(count, op), result);
}

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

static constexpr tp::CommunicationKind communicationKinds[] = {
    tp::CommunicationKind::AllReduce, tp::CommunicationKind::AllGather,
    tp::CommunicationKind::ReduceScatter, tp::CommunicationKind::AllToAll};
/// Element types with fast kernels, from which the efficiency curve is
/// computed, and those whose kernels are plain loops.
static constexpr llvm::StringLiteral fastElements[] = {"f32", "bf16", "f16"};
static constexpr llvm::StringLiteral slowElements[] = {"f64", "i8"};

namespace {
class Calibration {
public:
  Calibration(const CalibrationOptions &options, runtime::MpiWorld *processes,
              Progress progress)
      : options(options), measurement(options.ranks, processes),
        progress(progress), usesProcesses(processes != nullptr) {}

  llvm::Expected<std::optional<target::Target>> run();

private:
  /// Reports progress and measures.
  llvm::Error measure(const std::string &program, unsigned repetitions,
                      llvm::StringRef what, Measured &measured);
  llvm::Error measureKernels();
  llvm::Error measureMemory();
  llvm::Error measureVector();
  llvm::Error measureMatmul();
  llvm::Error measureCollective(tp::CommunicationKind kind, int64_t groupSize);
  void describeMachine();
  Quantity makeQuantity(double value, const llvm::Twine &how) const {
    return {value, (source + ": " + how).str()};
  }
  llvm::SmallVector<int64_t> getMatmulSizes() const {
    if (options.isQuick)
      return {8, 16};
    return {16, 32, 64, 128, 256, 512, 1024};
  }
  llvm::SmallVector<int64_t> getCollectiveBytes() const {
    if (options.isQuick)
      return {1 << 10, 1 << 12};
    return {1 << 10, 1 << 13, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24};
  }
  llvm::SmallVector<int64_t> getGroupSizes() const {
    llvm::SmallVector<int64_t> sizes;
    for (int64_t size = 2; size < options.ranks; size *= 2)
      if (options.ranks % size == 0)
        sizes.push_back(size);
    sizes.push_back(options.ranks);
    return sizes;
  }

  const CalibrationOptions &options;
  Measurement measurement;
  Progress progress;
  bool usesProcesses;
  size_t numDone = 0;
  size_t numMeasurements = 0;
  /// Prefix of each number's source.
  std::string source;
  double kernelSeconds = 0;
  target::Target target;
};
} // namespace

llvm::Error Calibration::measure(const std::string &program,
                                 unsigned repetitions, llvm::StringRef what,
                                 Measured &measured) {
  progress(double(numDone++) / double(numMeasurements), what);
  llvm::Expected<Measured> result =
      measurement.measure(program, options.isQuick ? 1 : repetitions);
  if (!result)
    return result.takeError();
  measured = *result;
  // Some clocks may not advance, and only the first process gets a time.
  measured.seconds = std::max(measured.seconds, 1e-9);
  return llvm::Error::success();
}

llvm::Error Calibration::measureKernels() {
  constexpr unsigned count = 200;
  Measured measured;
  if (llvm::Error error = measure(makeChain("neg", /*isBinary=*/false,
                                            /*elements=*/8, count),
                                  50, "kernel overhead", measured))
    return error;
  kernelSeconds = measured.seconds / count;
  target.kernelOverheadSeconds = makeQuantity(
      kernelSeconds, "one op of a chain of elementwise ops on 8 elements");
  target.transferOverheadSeconds =
      makeQuantity(kernelSeconds, "assumed equal to that of a kernel");
  return llvm::Error::success();
}

llvm::Error Calibration::measureMemory() {
  int64_t elements = options.isQuick ? 1 << 10 : 1 << 22;
  Measured measured;
  if (llvm::Error error =
          measure(makeChain("add", /*isBinary=*/true, elements, 8), 5,
                  "memory bandwidth", measured))
    return error;
  target.memoryBytesPerSecond =
      makeQuantity(measured.memoryBytes / measured.seconds,
                   "sums of two f32 tensors of " + llvm::Twine(elements) +
                       " elements, read and written");
  target.memoryEfficiency = {1, "the bandwidth is already what kernels reach"};
  return llvm::Error::success();
}

llvm::Error Calibration::measureVector() {
  // Small enough for the caches, so that arithmetic dominates.
  constexpr unsigned count = 16;
  int64_t elements = options.isQuick ? 64 : 1 << 15;
  Measured measured;
  if (llvm::Error error =
          measure(makeChain("silu", /*isBinary=*/false, elements, count), 30,
                  "elementwise arithmetic", measured))
    return error;
  double seconds = std::max(measured.seconds - count * kernelSeconds, 1e-9);
  target.vectorFlopsPerSecond = makeQuantity(
      measured.elementwiseFlops / seconds,
      "silu of " + llvm::Twine(elements) +
          " f32 elements, in the operations that Commute counts for it");
  return llvm::Error::success();
}

/// Makes times ascend. Noise can make the larger of two problems look faster.
static void makeAscending(llvm::MutableArrayRef<double> seconds) {
  for (size_t index = 1; index < seconds.size(); ++index)
    seconds[index] = std::max(seconds[index], seconds[index - 1]);
}

llvm::Error Calibration::measureMatmul() {
  llvm::SmallVector<int64_t> sizes = getMatmulSizes();
  std::vector<double> logSecondsAtPeak(sizes.size(), 0);
  std::vector<double> logSeconds(sizes.size(), 0);
  auto measureSize = [&](int64_t size, llvm::StringRef element, double &flops,
                         double &seconds) -> llvm::Error {
    Measured measured;
    unsigned repetitions = size >= 512 ? 5 : 30;
    if (llvm::Error error =
            measure(makeMatmul(size, size, size, element), repetitions,
                    ("matrix products, " + element).str(), measured))
      return error;
    flops = measured.matmulFlops;
    seconds = std::max(measured.seconds - kernelSeconds, 1e-9);
    return llvm::Error::success();
  };
  for (llvm::StringRef element : fastElements) {
    std::vector<double> flops(sizes.size()), seconds(sizes.size());
    double best = 0;
    for (auto [index, size] : llvm::enumerate(sizes)) {
      if (llvm::Error error =
              measureSize(size, element, flops[index], seconds[index]))
        return error;
      best = std::max(best, flops[index] / seconds[index]);
    }
    target.matmulFlopsPerSecond[element.str()] =
        makeQuantity(best, formatv("best of square products of {0} to {1}",
                                   sizes.front(), sizes.back())
                               .str());
    for (size_t index = 0; index < sizes.size(); ++index) {
      logSecondsAtPeak[index] += std::log(flops[index] / best);
      logSeconds[index] += std::log(seconds[index]);
    }
  }
  for (llvm::StringRef element : slowElements) {
    int64_t size = options.isQuick ? 8 : 128;
    double flops = 0, seconds = 0;
    if (llvm::Error error = measureSize(size, element, flops, seconds))
      return error;
    target.matmulFlopsPerSecond[element.str()] = makeQuantity(
        flops / seconds, "a square product of " + llvm::Twine(size));
  }
  // Use one curve for all element types: the geometric mean of theirs.
  for (std::vector<double> *logs : {&logSecondsAtPeak, &logSeconds}) {
    for (double &value : *logs)
      value = std::exp(value / double(std::size(fastElements)));
    makeAscending(*logs);
  }
  // Omit points that noise makes equal to the previous one: rounding could make
  // them descend.
  double longest = 0;
  for (auto [atPeak, seconds] : llvm::zip_equal(logSecondsAtPeak, logSeconds)) {
    auto &points = target.matmulEfficiency.points;
    if (!points.empty() &&
        (atPeak <= points.back().first || std::max(atPeak, seconds) <= longest))
      continue;
    longest = std::max(atPeak, seconds);
    points.emplace_back(atPeak, std::min(atPeak / seconds, 1.0));
  }
  target.matmulEfficiency.source =
      source + ": square products, geometric mean over f32, bf16 and f16";
  return llvm::Error::success();
}

llvm::Error Calibration::measureCollective(tp::CommunicationKind kind,
                                           int64_t groupSize) {
  llvm::SmallVector<int64_t> sizes = getCollectiveBytes();
  std::vector<double> bytes, seconds;
  for (int64_t size : sizes) {
    // Each rank has a whole number of elements.
    int64_t elements =
        llvm::divideCeil(uint64_t(size) / 4, groupSize) * groupSize;
    bool isLarge = size >= 1 << 22;
    unsigned count = isLarge ? 2 : 8;
    Measured measured;
    if (llvm::Error error = measure(
            makeCollectives(kind, options.ranks, groupSize, elements, count),
            isLarge ? 4 : 20, getName(kind), measured))
      return error;
    bytes.push_back(double(elements) * 4);
    seconds.push_back(measured.seconds / count);
  }
  makeAscending(seconds);
  target::CollectiveLine line;
  line.groupSize = groupSize;
  line.latencySeconds = seconds.front();
  size_t last = bytes.size() - 1;
  double slope =
      (seconds[last] - seconds[last - 1]) / (bytes[last] - bytes[last - 1]);
  // Noise can make the slope negative.
  line.bytesPerSecond = slope > 0 ? 1 / slope : bytes[last] / seconds[last];
  for (auto [size, time] : llvm::zip_equal(bytes, seconds))
    line.points.emplace_back(size, time);
  line.source = source + ": one of several in a row, f32";
  target.collectives.add(kind, std::move(line));
  return llvm::Error::success();
}

void Calibration::describeMachine() {
  std::string ranks =
      formatv("{0} {1}", options.ranks,
              usesProcesses ? "processes under mpirun" : "threads")
          .str();
  std::string processor = getProcessorName();
  source = "measured by commute calibrate on " + getDate() + ", " + processor +
           ", " + ranks;
  target.name = "local";
  target.description =
      processor + ", " + ranks + " with the kernels of commute run";
  target.devices = {double(options.ranks), "the number of ranks measured"};
  target.memoryBytes = makeQuantity(getMemoryBytes() / double(options.ranks),
                                    "an equal share of the machine's memory");
}

llvm::Expected<std::optional<target::Target>> Calibration::run() {
  numMeasurements = 3 + getMatmulSizes().size() * std::size(fastElements) +
                    std::size(slowElements) +
                    std::size(communicationKinds) * getGroupSizes().size() *
                        getCollectiveBytes().size();
  describeMachine();
  for (auto step : {&Calibration::measureKernels, &Calibration::measureMemory,
                    &Calibration::measureVector, &Calibration::measureMatmul})
    if (llvm::Error error = (this->*step)())
      return std::move(error);
  for (tp::CommunicationKind kind : communicationKinds)
    for (int64_t groupSize : getGroupSizes())
      if (llvm::Error error = measureCollective(kind, groupSize))
        return std::move(error);
  if (!measurement.isFirstProcess())
    return std::nullopt;
  return std::move(target);
}

llvm::Expected<std::optional<target::Target>>
calibration::calibrate(const CalibrationOptions &options,
                       runtime::MpiWorld *processes, Progress progress) {
  return Calibration(options, processes, progress).run();
}
