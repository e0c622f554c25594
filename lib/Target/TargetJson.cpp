//===- TargetJson.cpp - targets as JSON text --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <set>

using namespace commute;
using namespace commute::target;
namespace json = llvm::json;

static constexpr tp::CommunicationKind communicationKinds[] = {
    tp::CommunicationKind::AllReduce, tp::CommunicationKind::AllGather,
    tp::CommunicationKind::ReduceScatter, tp::CommunicationKind::AllToAll};
static constexpr llvm::StringLiteral rateNames[] = {"f64",  "f32", "f16",
                                                    "bf16", "f8",  "i8"};
static constexpr int64_t formatVersion = 1;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

namespace {
/// The legal values of a field.
struct Range {
  double smallest;
  double largest;
  bool isInteger = false;
};

/// Reads fields and keeps the first error; values read after an error are not
/// used.
class TargetReader {
public:
  explicit TargetReader(llvm::StringRef where) : where(where) {}

  Target read(const json::Value &value);
  llvm::Error takeError() const {
    if (message.empty())
      return llvm::Error::success();
    return llvm::createStringError(where + ": " + message);
  }

private:
  void fail(const std::string &path, const llvm::Twine &what) {
    if (message.empty())
      message = (path.empty() ? "the target" : path) + ": " + what.str();
  }
  /// Reads an object with exactly these keys. Returns an empty object after an
  /// error.
  const json::Object &readObject(const json::Value *value,
                                 const std::string &path,
                                 llvm::ArrayRef<llvm::StringRef> required,
                                 llvm::ArrayRef<llvm::StringRef> optional = {});
  std::string readText(const json::Value *value, const std::string &path);
  double readNumber(const json::Value *value, const std::string &path,
                    Range range);
  Quantity readQuantity(const json::Value *value, const std::string &path,
                        Range range);
  std::vector<std::pair<double, double>> readPoints(const json::Value *value,
                                                    const std::string &path,
                                                    Range first, Range second);
  MatmulEfficiency readEfficiency(const json::Value *value,
                                  const std::string &path);
  CollectiveLine readLine(const json::Value &value, const std::string &path);
  void readCollectives(const json::Value *value, const std::string &path,
                       CollectiveModel &model);

  const json::Object none;
  llvm::StringRef where;
  std::string message;
};
} // namespace

static constexpr Range rateRange{1, 1e24};
static constexpr Range secondsRange{0, 1e3};
static constexpr Range bytesRange{1, 1e18};
static constexpr Range fractionRange{1e-9, 1};

const json::Object &
TargetReader::readObject(const json::Value *value, const std::string &path,
                         llvm::ArrayRef<llvm::StringRef> required,
                         llvm::ArrayRef<llvm::StringRef> optional) {
  const json::Object *object = value ? value->getAsObject() : nullptr;
  if (!object) {
    fail(path, value ? "expected an object" : "is missing");
    return none;
  }
  for (llvm::StringRef key : required)
    if (!object->get(key)) {
      fail(path.empty() ? key.str() : path + "." + key.str(), "is missing");
      return none;
    }
  for (const auto &[key, member] : *object)
    if (!llvm::is_contained(required, llvm::StringRef(key)) &&
        !llvm::is_contained(optional, llvm::StringRef(key))) {
      llvm::SmallVector<llvm::StringRef> known(required);
      llvm::append_range(known, optional);
      fail(path, "unknown field '" + llvm::StringRef(key) +
                     "'; known fields are " + llvm::join(known, ", "));
      return none;
    }
  return *object;
}

std::string TargetReader::readText(const json::Value *value,
                                   const std::string &path) {
  std::optional<llvm::StringRef> text =
      value ? value->getAsString() : std::nullopt;
  if (!text)
    fail(path, "expected a string");
  else if (text->trim().empty())
    fail(path, "is empty");
  return text.value_or("").str();
}

double TargetReader::readNumber(const json::Value *value,
                                const std::string &path, Range range) {
  std::optional<double> number = value ? value->getAsNumber() : std::nullopt;
  auto format = [](double bound) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%g", bound);
    return text;
  };
  bool fits = number && *number >= range.smallest && *number <= range.largest &&
              (!range.isInteger || std::floor(*number) == *number);
  if (!fits)
    fail(path, llvm::Twine("expected ") +
                   (range.isInteger ? "an integer" : "a number") + " from " +
                   format(range.smallest) + " to " + format(range.largest) +
                   (number ? ", not " + format(*number) : std::string()));
  return fits ? *number : range.smallest;
}

Quantity TargetReader::readQuantity(const json::Value *value,
                                    const std::string &path, Range range) {
  const json::Object &object = readObject(value, path, {"value", "source"});
  if (!message.empty())
    return {};
  return {readNumber(object.get("value"), path + ".value", range),
          readText(object.get("source"), path + ".source")};
}

std::vector<std::pair<double, double>>
TargetReader::readPoints(const json::Value *value, const std::string &path,
                         Range first, Range second) {
  constexpr size_t mostPoints = 1000;
  const json::Array *array = value ? value->getAsArray() : nullptr;
  std::vector<std::pair<double, double>> points;
  if (!array || array->size() > mostPoints) {
    fail(path, "expected a list of at most 1000 points");
    return points;
  }
  for (auto [index, element] : llvm::enumerate(*array)) {
    std::string place = path + "[" + std::to_string(index) + "]";
    const json::Array *pair = element.getAsArray();
    if (!pair || pair->size() != 2) {
      fail(place, "expected a pair of numbers");
      return points;
    }
    points.emplace_back(readNumber(&(*pair)[0], place + "[0]", first),
                        readNumber(&(*pair)[1], place + "[1]", second));
    if (index > 0 && points[index].first <= points[index - 1].first)
      fail(place + "[0]", "points must be in ascending order");
    if (!message.empty())
      return points;
  }
  return points;
}

MatmulEfficiency TargetReader::readEfficiency(const json::Value *value,
                                              const std::string &path) {
  const json::Object &object = readObject(value, path, {"points", "source"});
  MatmulEfficiency efficiency;
  if (!message.empty())
    return efficiency;
  efficiency.points = readPoints(object.get("points"), path + ".points",
                                 {1e-15, 1e6}, fractionRange);
  efficiency.source = readText(object.get("source"), path + ".source");
  if (efficiency.points.empty())
    fail(path + ".points", "needs at least one point");
  for (size_t index = 1; index < efficiency.points.size(); ++index) {
    auto [seconds0, fraction0] = efficiency.points[index - 1];
    auto [seconds1, fraction1] = efficiency.points[index];
    if (seconds1 / fraction1 < seconds0 / fraction0)
      fail(path + ".points[" + std::to_string(index) + "]",
           "this larger product would take less time than the previous point");
  }
  return efficiency;
}

CollectiveLine TargetReader::readLine(const json::Value &value,
                                      const std::string &path) {
  const json::Object &object = readObject(
      &value, path,
      {"group_size", "latency_seconds", "bytes_per_second", "source"},
      {"points"});
  CollectiveLine line;
  if (!message.empty())
    return line;
  line.groupSize = static_cast<int64_t>(readNumber(
      object.get("group_size"), path + ".group_size", {2, 1 << 20, true}));
  line.latencySeconds = readNumber(object.get("latency_seconds"),
                                   path + ".latency_seconds", secondsRange);
  line.bytesPerSecond = readNumber(object.get("bytes_per_second"),
                                   path + ".bytes_per_second", rateRange);
  line.source = readText(object.get("source"), path + ".source");
  if (const json::Value *points = object.get("points"))
    line.points =
        readPoints(points, path + ".points", bytesRange, {1e-12, 1e6});
  for (size_t index = 1; index < line.points.size(); ++index)
    if (line.points[index].second < line.points[index - 1].second)
      fail(path + ".points[" + std::to_string(index) + "][1]",
           "more bytes would take less time than at the previous point");
  return line;
}

void TargetReader::readCollectives(const json::Value *value,
                                   const std::string &path,
                                   CollectiveModel &model) {
  const json::Object &object =
      readObject(value, path, {"all_reduce", "all_gather", "reduce_scatter"},
                 {"all_to_all"});
  for (tp::CommunicationKind kind : communicationKinds) {
    const json::Value *member = object.get(getName(kind));
    if (!member)
      continue;
    constexpr size_t mostLines = 64;
    std::string place = path + "." + getName(kind).str();
    const json::Array *lines = member->getAsArray();
    if (!lines || lines->empty() || lines->size() > mostLines) {
      fail(place, "expected a list of 1 to 64 group sizes");
      return;
    }
    std::set<int64_t> groupSizes;
    for (auto [index, line] : llvm::enumerate(*lines)) {
      std::string linePlace = place + "[" + std::to_string(index) + "]";
      CollectiveLine parsed = readLine(line, linePlace);
      if (!message.empty())
        return;
      if (!groupSizes.insert(parsed.groupSize).second)
        fail(linePlace + ".group_size",
             llvm::Twine(parsed.groupSize) + " occurs twice");
      model.add(kind, std::move(parsed));
    }
  }
}

Target TargetReader::read(const json::Value &value) {
  Target target;
  const json::Object &object =
      readObject(&value, "",
                 {"version", "name", "description", "devices", "memory_bytes",
                  "memory_bytes_per_second", "memory_efficiency",
                  "kernel_overhead_seconds", "transfer_overhead_seconds",
                  "vector_flops_per_second", "matmul_flops_per_second",
                  "matmul_efficiency", "collectives"},
                 {"network"});
  if (!message.empty())
    return target;
  readNumber(object.get("version"), "version",
             {formatVersion, formatVersion, true});
  target.name = readText(object.get("name"), "name");
  target.description = readText(object.get("description"), "description");
  auto read = [&](llvm::StringRef key, Range range) {
    return readQuantity(object.get(key), key.str(), range);
  };
  target.devices = read("devices", {1, 1 << 20, true});
  target.memoryBytes = read("memory_bytes", bytesRange);
  target.memoryBytesPerSecond = read("memory_bytes_per_second", rateRange);
  target.memoryEfficiency = read("memory_efficiency", fractionRange);
  target.kernelOverheadSeconds = read("kernel_overhead_seconds", secondsRange);
  target.transferOverheadSeconds =
      read("transfer_overhead_seconds", secondsRange);
  target.vectorFlopsPerSecond = read("vector_flops_per_second", rateRange);
  llvm::SmallVector<llvm::StringRef> rates(std::begin(rateNames),
                                           std::end(rateNames));
  const json::Object &matmul = readObject(object.get("matmul_flops_per_second"),
                                          "matmul_flops_per_second", {}, rates);
  for (const auto &[name, rate] : matmul)
    target.matmulFlopsPerSecond[name.str()] =
        readQuantity(&rate, "matmul_flops_per_second." + name.str(), rateRange);
  target.matmulEfficiency =
      readEfficiency(object.get("matmul_efficiency"), "matmul_efficiency");
  readCollectives(object.get("collectives"), "collectives", target.collectives);
  if (const json::Value *network = object.get("network")) {
    const json::Object &members =
        readObject(network, "network", {"latency_seconds", "bytes_per_second"});
    target.network = {readQuantity(members.get("latency_seconds"),
                                   "network.latency_seconds", secondsRange),
                      readQuantity(members.get("bytes_per_second"),
                                   "network.bytes_per_second", rateRange)};
  }
  return target;
}

/// Returns true if brackets nest at most `most` levels deep. LLVM's JSON parser
/// is recursive.
static bool isShallow(llvm::StringRef text, size_t most) {
  size_t depth = 0;
  bool inText = false;
  for (size_t index = 0; index < text.size(); ++index) {
    char character = text[index];
    if (inText) {
      if (character == '\\')
        ++index;
      else if (character == '"')
        inText = false;
    } else if (character == '"') {
      inText = true;
    } else if (character == '[' || character == '{') {
      if (++depth > most)
        return false;
    } else if ((character == ']' || character == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

llvm::Expected<Target> target::parseTarget(llvm::StringRef text,
                                           llvm::StringRef where) {
  if (!isShallow(text, /*most=*/32))
    return llvm::createStringError(where +
                                   ": brackets nest deeper than 32 levels");
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return llvm::createStringError(where + ": " +
                                   llvm::toString(value.takeError()));
  TargetReader reader(where);
  Target target = reader.read(*value);
  if (llvm::Error error = reader.takeError())
    return std::move(error);
  return target;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static json::Object render(const Quantity &quantity) {
  return json::Object{{"value", quantity.value}, {"source", quantity.source}};
}

static json::Array render(llvm::ArrayRef<std::pair<double, double>> points) {
  json::Array array;
  for (auto [first, second] : points)
    array.push_back(json::Array{first, second});
  return array;
}

static json::Array render(llvm::ArrayRef<CollectiveLine> lines) {
  json::Array array;
  for (const CollectiveLine &line : lines) {
    json::Object object{{"group_size", line.groupSize},
                        {"latency_seconds", line.latencySeconds},
                        {"bytes_per_second", line.bytesPerSecond},
                        {"source", line.source}};
    if (!line.points.empty())
      object["points"] = render(line.points);
    array.push_back(std::move(object));
  }
  return array;
}

json::Value Target::toJson() const {
  json::Object rates, lines;
  for (const auto &[rateName, rate] : matmulFlopsPerSecond)
    rates[rateName] = ::render(rate);
  for (tp::CommunicationKind kind : communicationKinds)
    if (llvm::ArrayRef<CollectiveLine> ofKind = collectives.getLines(kind);
        !ofKind.empty())
      lines[getName(kind)] = ::render(ofKind);
  json::Object object{
      {"version", formatVersion},
      {"name", name},
      {"description", description},
      {"devices", ::render(devices)},
      {"memory_bytes", ::render(memoryBytes)},
      {"memory_bytes_per_second", ::render(memoryBytesPerSecond)},
      {"memory_efficiency", ::render(memoryEfficiency)},
      {"kernel_overhead_seconds", ::render(kernelOverheadSeconds)},
      {"transfer_overhead_seconds", ::render(transferOverheadSeconds)},
      {"vector_flops_per_second", ::render(vectorFlopsPerSecond)},
      {"matmul_flops_per_second", std::move(rates)},
      {"matmul_efficiency",
       json::Object{{"points", ::render(matmulEfficiency.points)},
                    {"source", matmulEfficiency.source}}},
      {"collectives", std::move(lines)}};
  if (network)
    object["network"] =
        json::Object{{"latency_seconds", ::render(network->latencySeconds)},
                     {"bytes_per_second", ::render(network->bytesPerSecond)}};
  return object;
}
