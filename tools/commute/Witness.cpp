//===- Witness.cpp - inputs that show a difference --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Witness.h"

#include "ReplayScript.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Runtime/ProgramInputs.h"
#include "commute/Runtime/Run.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
using runtime::ElementKind;
using runtime::TensorValue;

/// Other floats may be needed to see a difference, such as negative ones.
static constexpr unsigned mostTries = 16;
/// Of all inputs together.
static constexpr size_t mostBytes = size_t(1) << 30;
static constexpr int64_t mostRanks = 64;

namespace {
/// The inputs of all ranks, by argument, in the order of the world. Null where
/// an input is no tensor, or is not used.
using Inputs = std::vector<std::vector<TensorValue>>;

struct ProgramOfWitness {
  OwningOpRef<ModuleOp> wide;
  std::optional<runtime::RunnableProgram> runnable;
};

class WitnessSearch {
public:
  WitnessSearch(const ComparedPrograms &programs,
                const equivalence::VerifyResult &result)
      : programs(programs), integers(result.integersOfDifferences) {}

  /// Returns why no inputs were found; success otherwise.
  llvm::Error run();

  Inputs inputs;
  std::vector<int64_t> world;
  unsigned seed = 0;
  bool hasIntegers = false;
  std::string difference;

private:
  llvm::Error prepare(const LoadedProgram &program, ProgramOfWitness &own);
  llvm::Error draw();
  /// Returns a tensor of an input with the integers of the verdict.
  llvm::Expected<TensorValue> fix(unsigned argument, int64_t rank,
                                  const TensorValue &drawn);
  llvm::Expected<std::vector<runtime::RankOutcome>>
  evaluate(const ProgramOfWitness &program);
  bool compare(llvm::ArrayRef<runtime::RankOutcome> first,
               llvm::ArrayRef<runtime::RankOutcome> second);

  const ComparedPrograms &programs;
  equivalence::FixedIntegers integers;
  ProgramOfWitness first, second;
  std::optional<analysis::InputPlacements> placements;
  runtime::SymbolTable symbols;
};
} // namespace

static std::string describePlace(Location location) {
  return report::describeLocation(location);
}

/// Makes all floats of a program doubles. Returns false if an op needs others.
static bool widenFloats(ModuleOp module) {
  func::FuncOp function = analysis::getMain(module);
  Type real = Float64Type::get(module.getContext());
  auto widen = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (type && isa<FloatType>(type.getElementType()))
      value.setType(type.clone(real));
  };
  llvm::for_each(function.getArguments(), widen);
  function.walk(
      [&](Operation *op) { llvm::for_each(op->getResults(), widen); });
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getBody().front().getArgumentTypes(),
      function.getBody().front().getTerminator()->getOperandTypes()));
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  return succeeded(verify(module));
}

llvm::Error WitnessSearch::prepare(const LoadedProgram &program,
                                   ProgramOfWitness &own) {
  llvm::Expected<func::FuncOp> function = getMain(program);
  if (!function)
    return function.takeError();
  own.wide = cast<ModuleOp>(program.getModule()->clone());
  if (!widenFloats(*own.wide))
    return llvm::createStringError(
        program.origin + " computes with the bits of floats, which real "
                         "numbers do not have");
  llvm::Expected<runtime::RunnableProgram> runnable =
      runtime::RunnableProgram::create(analysis::getMain(*own.wide),
                                       describePlace);
  if (!runnable)
    return runnable.takeError();
  own.runnable = std::move(*runnable);
  return llvm::Error::success();
}

/// Converts elements of one type to another.
static TensorValue convert(const runtime::Tensor &tensor, Type type) {
  auto result = runtime::Tensor::allocate(tensor.getSizes(), type);
  std::vector<double> numbers(tensor.getNumElements());
  runtime::loadElements(tensor.getKind(), tensor.getData(), numbers.size(),
                        numbers.data());
  runtime::storeElements(result->getKind(), numbers.data(), numbers.size(),
                         result->getMutableData());
  return result;
}

llvm::Expected<TensorValue> WitnessSearch::fix(unsigned argument, int64_t rank,
                                               const TensorValue &drawn) {
  auto result =
      runtime::Tensor::allocate(drawn->getSizes(), drawn->getElementType());
  std::vector<int64_t> numbers(drawn->getNumElements());
  runtime::loadElements(drawn->getKind(), drawn->getData(), numbers.size(),
                        numbers.data());
  analysis::InputInstance instance = placements->getInstance(argument, rank);
  SmallVector<int64_t> sizes(drawn->getSizes()), starts(sizes.size(), 0);
  SmallVector<int64_t> whole(sizes);
  for (const analysis::InputInstance::Cut &cut : llvm::reverse(instance.cuts)) {
    starts[cut.dim] += cut.index * whole[cut.dim];
    whole[cut.dim] *= cut.count;
  }
  SmallVector<int64_t> indices(starts);
  for (int64_t &number : numbers) {
    if (std::optional<int64_t> own =
            integers.lookup(argument, instance.tensor, indices)) {
      number = *own;
      hasIntegers = true;
    }
    for (size_t dim = indices.size(); dim-- > 0;) {
      if (++indices[dim] < starts[dim] + sizes[dim])
        break;
      indices[dim] = starts[dim];
    }
  }
  runtime::storeElements(result->getKind(), numbers.data(), numbers.size(),
                         result->getMutableData());
  return result;
}

llvm::Error WitnessSearch::draw() {
  inputs.clear();
  hasIntegers = false;
  std::optional<runtime::ProgramInputs> sources[2];
  func::FuncOp functions[2];
  for (auto [own, program, function] : llvm::zip(
           sources, std::array{&programs.first, &programs.second}, functions)) {
    function = *getMain(*program);
    runtime::InputSources drawn;
    drawn.seed = seed;
    if (llvm::Error error = drawn.addWeights(program->getArchives()))
      return error;
    llvm::Expected<runtime::ProgramInputs> created =
        runtime::ProgramInputs::create(function, std::move(drawn));
    if (!created)
      return created.takeError();
    own.emplace(std::move(*created));
  }
  world = sources[0]->getWorld().vec();
  symbols = sources[0]->getSymbols();
  if (static_cast<int64_t>(world.size()) > mostRanks)
    return llvm::createStringError("there are " + Twine(world.size()) +
                                   " ranks, and up to " + Twine(mostRanks) +
                                   " are evaluated");
  size_t numBytes = 0;
  for (unsigned argument = 0; argument < functions[0].getNumArguments();
       ++argument) {
    std::vector<TensorValue> &ofRanks = inputs.emplace_back();
    for (int64_t rank : world) {
      TensorValue tensor;
      for (runtime::ProgramInputs *source : {&*sources[0], &*sources[1]}) {
        if (tensor)
          continue;
        llvm::Expected<TensorValue> own = source->get(argument, rank);
        if (!own)
          return own.takeError();
        tensor = std::move(*own);
      }
      if (tensor) {
        numBytes += tensor->getNumBytes();
        if (numBytes > mostBytes)
          return llvm::createStringError("the inputs of all ranks take more "
                                         "than 1 GiB");
        if (!runtime::isFloat(tensor->getKind())) {
          llvm::Expected<TensorValue> fixed = fix(argument, rank, tensor);
          if (!fixed)
            return fixed.takeError();
          tensor = std::move(*fixed);
        }
      }
      ofRanks.push_back(std::move(tensor));
    }
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<runtime::RankOutcome>>
WitnessSearch::evaluate(const ProgramOfWitness &program) {
  func::FuncOp function = program.runnable->getFunction();
  auto get = [&](unsigned argument,
                 int64_t rank) -> llvm::Expected<TensorValue> {
    TensorValue own = inputs[argument][llvm::find(world, rank) - world.begin()];
    auto type =
        dyn_cast<RankedTensorType>(function.getArgument(argument).getType());
    if (!own || !type || own->getElementType() == type.getElementType())
      return own;
    return convert(*own, type.getElementType());
  };
  runtime::RunOptions options;
  options.symbols = symbols;
  options.threadsPerRank = 1;
  options.timeout = std::chrono::seconds(30);
  return runtime::runOnThreads(*program.runnable, world, get, options);
}

/// Returns the index of an element in the order of storage, as text.
static std::string formatIndex(llvm::ArrayRef<int64_t> sizes, size_t element) {
  SmallVector<int64_t> indices(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    indices[dim] = static_cast<int64_t>(element) % sizes[dim];
    element /= static_cast<size_t>(sizes[dim]);
  }
  return runtime::formatSizes(indices);
}

bool WitnessSearch::compare(llvm::ArrayRef<runtime::RankOutcome> a,
                            llvm::ArrayRef<runtime::RankOutcome> b) {
  // Far above the rounding of doubles, and far below what a fault changes.
  constexpr double tolerance = 1e-7;
  for (auto [x, y] : llvm::zip(a, b))
    for (auto [index, p, q] : llvm::enumerate(x.outputs, y.outputs)) {
      if (!p || !q)
        continue;
      std::string output =
          llvm::formatv("output {0} on rank {1}", index, x.rank);
      if (p->getSizes() != q->getSizes()) {
        difference = output + " has sizes " +
                     runtime::formatSizes(p->getSizes()) +
                     " in the first program, and " +
                     runtime::formatSizes(q->getSizes()) + " in the second";
        return true;
      }
      std::vector<double> m(p->getNumElements()), n(q->getNumElements());
      runtime::loadElements(p->getKind(), p->getData(), m.size(), m.data());
      runtime::loadElements(q->getKind(), q->getData(), n.size(), n.data());
      double scale = 0;
      for (double number : llvm::concat<double>(m, n))
        if (std::isfinite(number))
          scale = std::max(scale, std::abs(number));
      for (size_t element = 0; element < m.size(); ++element) {
        bool differs =
            std::isnan(m[element]) != std::isnan(n[element]) ||
            (m[element] != n[element] && !std::isnan(m[element]) &&
             !(std::abs(m[element] - n[element]) <= tolerance * scale));
        if (!differs)
          continue;
        difference = llvm::formatv(
            "{0} at {1} is {2} in the first program, and {3} in the second",
            output, formatIndex(p->getSizes(), element),
            llvm::format("%.9g", m[element]), llvm::format("%.9g", n[element]));
        return true;
      }
    }
  return false;
}

llvm::Error WitnessSearch::run() {
  for (auto [program, own] : {std::pair(&programs.first, &first),
                              std::pair(&programs.second, &second)})
    if (llvm::Error error = prepare(*program, *own))
      return error;
  llvm::Expected<analysis::InputPlacements> resolved =
      analysis::InputPlacements::resolve(*getMain(programs.first));
  if (!resolved)
    return resolved.takeError();
  placements.emplace(std::move(*resolved));
  // Ranks use the context concurrently.
  programs.first.getModule()->getContext()->enableMultithreading();
  for (; seed < mostTries; ++seed) {
    if (llvm::Error error = draw())
      return error;
    auto a = evaluate(first);
    if (!a) {
      // These inputs are not legal: other numbers may be.
      if (seed + 1 == mostTries)
        return a.takeError();
      llvm::consumeError(a.takeError());
      continue;
    }
    auto b = evaluate(second);
    if (!b) {
      difference =
          "the second program cannot run: " + llvm::toString(b.takeError());
      return llvm::Error::success();
    }
    if (compare(*a, *b))
      return llvm::Error::success();
  }
  return llvm::createStringError("both programs return the same for " +
                                 Twine(mostTries) +
                                 " drawings of inputs, in real numbers");
}

static std::string getName(func::FuncOp function, unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(
      argument, tp::TPDialect::nameAttrName);
  return name ? name.str() : "arg" + std::to_string(argument);
}

llvm::Expected<Witness>
tool::writeWitness(const ComparedPrograms &programs,
                   const equivalence::VerifyResult &result,
                   llvm::StringRef folder) {
  Witness witness;
  WitnessSearch search(programs, result);
  if (llvm::Error error = search.run()) {
    witness.noneBecause = llvm::toString(std::move(error));
    return witness;
  }
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError("cannot create the folder '" + folder +
                                   "': " + code.message());
  std::vector<runtime::NamedTensor> tensors;
  func::FuncOp function = *getMain(programs.first);
  for (auto [argument, ofRanks] : llvm::enumerate(search.inputs))
    for (auto [rank, tensor] : llvm::zip_equal(search.world, ofRanks))
      if (tensor)
        tensors.push_back(
            {"rank" + std::to_string(rank) + "." + getName(function, argument),
             tensor});
  auto getPath = [&](llvm::StringRef name) {
    SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return path.str().str();
  };
  witness.inputs = getPath("inputs.safetensors");
  if (llvm::Error error = runtime::writeSafetensors(witness.inputs, tensors))
    return std::move(error);
  witness.difference = std::move(search.difference);
  witness.drawn = "floats were drawn with seed " + std::to_string(search.seed);
  if (search.hasIntegers)
    witness.drawn += result.witness.empty()
                         ? ", and integers are those that were drawn for the "
                           "verdict"
                         : ", and integers are those that the proof found";
  for (llvm::ArrayRef<std::string> paths :
       {programs.firstPaths, programs.secondPaths})
    witness.commands.push_back("commute run " + llvm::join(paths, " ") +
                               " --inputs=" + witness.inputs +
                               " --print-elements");
  llvm::Expected<bool> hasScript = writeReplayScript(
      programs, witness.difference, search.world, getPath("replay.py"));
  if (!hasScript)
    return hasScript.takeError();
  if (*hasScript) {
    witness.script = getPath("replay.py");
    witness.commands.push_back("python " + witness.script);
  }
  return witness;
}

void tool::print(const Witness &witness, llvm::raw_ostream &os) {
  if (!witness.noneBecause.empty()) {
    os << "no concrete inputs were found: " << witness.noneBecause << '\n';
    return;
  }
  os << witness.inputs << ": " << witness.difference << "\n  " << witness.drawn
     << '\n';
  for (const std::string &command : witness.commands)
    os << "  replay: " << command << '\n';
}

llvm::json::Object tool::toJson(const Witness &witness) {
  if (!witness.noneBecause.empty())
    return llvm::json::Object{{"none_because", witness.noneBecause}};
  return llvm::json::Object{{"inputs", witness.inputs},
                            {"script", witness.script},
                            {"difference", witness.difference},
                            {"drawn", witness.drawn},
                            {"commands", llvm::json::Array(witness.commands)}};
}
