//===- ProgramInputs.cpp - inputs of a run ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/ProgramInputs.h"

#include "Kernels.h"
#include "RandomTensor.h"

#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;
using archive::ScalarType;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string ProgramInputs::getName(unsigned argument) const {
  auto name = getFunction().getArgAttrOfType<StringAttr>(
      argument, tp::TPDialect::nameAttrName);
  return name ? name.str() : "arg" + std::to_string(argument);
}

std::string ProgramInputs::getParameterName(unsigned argument) const {
  auto name = getFunction().getArgAttrOfType<StringAttr>(
      argument, tp::TPDialect::parameterAttrName);
  return name ? name.str() : std::string();
}

llvm::Error ProgramInputs::error(unsigned argument,
                                 const Twine &message) const {
  return llvm::createStringError("input '" + getName(argument) +
                                 "': " + message);
}

const SafetensorsFile::Entry *ProgramInputs::findInFile(unsigned argument,
                                                        int64_t rank) const {
  if (!sources.file)
    return nullptr;
  std::string prefix = "rank" + std::to_string(rank) + ".";
  std::string name = getName(argument), parameter = getParameterName(argument);
  for (const std::string &candidate :
       {prefix + name, prefix + parameter, name, parameter})
    if (const SafetensorsFile::Entry *entry = sources.file->find(candidate))
      return entry;
  return nullptr;
}

llvm::Error ProgramInputs::checkNames() const {
  if (!sources.file)
    return llvm::Error::success();
  std::set<std::string> known;
  for (unsigned argument = 0; argument < getFunction().getNumArguments();
       ++argument)
    for (const std::string &name :
         {getName(argument), getParameterName(argument)}) {
      known.insert(name);
      for (int64_t rank : getWorld())
        known.insert("rank" + std::to_string(rank) + "." + name);
    }
  for (const auto &[name, entry] : sources.file->getEntries())
    if (!known.contains(name))
      return llvm::createStringError(
          sources.file->getPath() + ": tensor '" + name +
          "' is not an input of the program; inputs are named as in the graph "
          "(commute show), with the prefix 'rank0.' for one rank");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

void ProgramInputs::addHints() {
  auto module = getFunction()->getParentOfType<ModuleOp>();
  if (auto hints = module->getAttrOfType<DictionaryAttr>(
          tp::TPDialect::symbolHintsAttrName))
    for (NamedAttribute hint : hints)
      if (auto value = dyn_cast<IntegerAttr>(hint.getValue()))
        symbols[hint.getName().str()] = value.getInt();
}

llvm::Error ProgramInputs::addFileSizes() {
  tp::SymbolSpace space(getFunction().getContext());
  runtime::SymbolTable given;
  for (BlockArgument argument : getFunction().getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    unsigned number = argument.getArgNumber();
    for (int64_t rank : getWorld()) {
      const SafetensorsFile::Entry *entry = findInFile(number, rank);
      if (!entry || !type)
        continue;
      tp::Sizes sizes = space.getSizes(type);
      if (entry->sizes.size() != sizes.size())
        return error(number, "the tensor in " + sources.file->getPath() +
                                 " has sizes " + formatSizes(entry->sizes) +
                                 ", but the program takes " +
                                 Twine(sizes.size()) + " dims");
      for (auto [size, value] : llvm::zip_equal(sizes, entry->sizes)) {
        auto symbol = dyn_cast_if_present<AffineSymbolExpr>(size.getSymbolic());
        if (!symbol)
          continue;
        std::string name = space.getNames()[symbol.getPosition()].str();
        auto [known, isNew] = given.try_emplace(name, value);
        if (!isNew && known->second != value)
          return error(number, "the tensor in " + sources.file->getPath() +
                                   " implies " + name + " = " + Twine(value) +
                                   ", but another tensor implies " + name +
                                   " = " + Twine(known->second));
      }
    }
  }
  for (const auto &[name, value] : given)
    symbols[name] = value;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Bounds of integers
//===----------------------------------------------------------------------===//

/// Returns the size of the smallest table that integers computed from `input`
/// index, or 2 if none is found.
static int64_t getIntegerBound(BlockArgument input,
                               const runtime::SymbolTable &symbols) {
  auto lookup = [&](StringRef name) -> std::optional<int64_t> {
    auto found = symbols.find(name.str());
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  };
  std::optional<int64_t> bound;
  llvm::SetVector<Value> values;
  values.insert(input);
  for (size_t next = 0; next < values.size(); ++next)
    for (OpOperand &use : values[next].getUses()) {
      auto indexing = dyn_cast<tp::IndexingOpInterface>(use.getOwner());
      if (indexing && use.get() == indexing.getIndexValues()) {
        auto table = cast<RankedTensorType>(indexing.getIndexed().getType());
        std::optional<int64_t> size =
            tp::evaluateSize(table, indexing.getIndexedDim(), lookup);
        if (size && (!bound || *size < *bound))
          bound = size;
        continue;
      }
      for (Value result : use.getOwner()->getResults()) {
        auto type = dyn_cast<RankedTensorType>(result.getType());
        if (type && isa<IntegerType>(type.getElementType()) &&
            !type.getElementType().isInteger(1))
          values.insert(result);
      }
    }
  return std::max<int64_t>(bound.value_or(2), 1);
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

void ProgramInputs::addAssumptions(unsigned argument) {
  auto name = getFunction().getArgAttrOfType<StringAttr>(
      argument, tp::TPDialect::nameAttrName);
  std::string start =
      "input '" + (name ? name.str() : "#" + std::to_string(argument)) + "' ";
  for (const std::string &assumption : placements.getAssumptions())
    if (StringRef(assumption).starts_with(start))
      assumptions.push_back(assumption);
}

llvm::Error
InputSources::addWeights(ArrayRef<const archive::ProgramArchive *> archives) {
  for (const archive::ProgramArchive *archive : archives) {
    llvm::Expected<archive::Weights> opened = archive::Weights::open(*archive);
    if (!opened)
      return opened.takeError();
    weights.push_back(std::move(*opened));
  }
  return llvm::Error::success();
}

llvm::Expected<ProgramInputs> ProgramInputs::create(func::FuncOp function,
                                                    InputSources sources) {
  llvm::Expected<analysis::InputPlacements> placements =
      analysis::InputPlacements::resolve(function);
  if (!placements)
    return placements.takeError();
  ProgramInputs inputs(function, std::move(sources), std::move(*placements));
  if (llvm::Error error = inputs.checkNames())
    return std::move(error);
  inputs.addHints();
  if (llvm::Error error = inputs.addFileSizes())
    return std::move(error);
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    inputs.integerBounds.push_back(getIntegerBound(argument, inputs.symbols));
    // Report assumptions only for random inputs.
    bool isRandom = isa<RankedTensorType>(argument.getType()) &&
                    llvm::any_of(inputs.getWorld(), [&](int64_t rank) {
                      return !inputs.findWeight(number, rank) &&
                             !inputs.findInFile(number, rank);
                    });
    if (isRandom)
      inputs.addAssumptions(number);
  }
  return inputs;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static std::optional<ElementKind> getKind(ScalarType type) {
  switch (type) {
  case ScalarType::Byte:
    return ElementKind::U8;
  case ScalarType::Char:
    return ElementKind::I8;
  case ScalarType::Short:
    return ElementKind::I16;
  case ScalarType::Int:
    return ElementKind::I32;
  case ScalarType::Long:
    return ElementKind::I64;
  case ScalarType::Half:
    return ElementKind::F16;
  case ScalarType::Float:
    return ElementKind::F32;
  case ScalarType::Double:
    return ElementKind::F64;
  case ScalarType::Bool:
    return ElementKind::Bool;
  case ScalarType::BFloat16:
    return ElementKind::BF16;
  case ScalarType::UInt16:
    return ElementKind::U16;
  case ScalarType::Float8E4M3FN:
    return ElementKind::F8E4M3FN;
  case ScalarType::Float8E5M2:
    return ElementKind::F8E5M2;
  case ScalarType::Float8E4M3FNUZ:
    return ElementKind::F8E4M3FNUZ;
  case ScalarType::Float8E5M2FNUZ:
    return ElementKind::F8E5M2FNUZ;
  case ScalarType::Float8E8M0FNU:
    return ElementKind::F8E8M0FNU;
  case ScalarType::UInt32:
    return ElementKind::U32;
  case ScalarType::UInt64:
    return ElementKind::U64;
  case ScalarType::Unknown:
  case ScalarType::ComplexHalf:
  case ScalarType::ComplexFloat:
  case ScalarType::ComplexDouble:
    return std::nullopt;
  }
  return std::nullopt;
}

const archive::Weights *ProgramInputs::findWeights(int64_t rank) const {
  if (sources.weights.size() <= 1)
    return sources.weights.empty() ? nullptr : &sources.weights.front();
  return &sources.weights[llvm::find(getWorld(), rank) - getWorld().begin()];
}

const archive::StoredTensor *ProgramInputs::findWeight(unsigned argument,
                                                       int64_t rank) const {
  const archive::Weights *weights = findWeights(rank);
  std::string name = getParameterName(argument);
  if (!weights || name.empty())
    return nullptr;
  const archive::StoredTensor *stored = weights->find(name);
  return stored && weights->hasBytes(*stored) ? stored : nullptr;
}

llvm::Expected<TensorValue>
ProgramInputs::readWeight(const archive::Weights &weights,
                          const archive::StoredTensor &stored,
                          unsigned argument, RankedTensorType type) const {
  auto refuse = [&](const Twine &message) {
    return error(argument, "the archive's tensor '" +
                               getParameterName(argument) + "' " + message);
  };
  if (!stored.isRaw)
    return refuse("is pickled, which only PyTorch can read; --weights=seeded "
                  "uses random weights");
  std::optional<ElementKind> kind = getKind(stored.dtype);
  if (!kind || kind != getElementKind(type.getElementType()))
    return refuse("has a different element type from the program's input");
  llvm::Expected<archive::Weights::Bytes> bytes = weights.load(stored);
  if (!bytes)
    return bytes.takeError();
  auto count = static_cast<int64_t>(bytes->size / runtime::getNumBytes(*kind));
  // Compute the index of the last element without overflow.
  int64_t last = stored.storageOffset;
  bool overflows = false, isEmpty = false;
  for (auto [size, stride] : llvm::zip_equal(stored.sizes, stored.strides)) {
    int64_t distance = 0;
    isEmpty |= size == 0;
    overflows |= __builtin_mul_overflow(size - 1, stride, &distance) ||
                 __builtin_add_overflow(last, distance, &last);
  }
  if (!isEmpty && (overflows || last >= count))
    return refuse("extends beyond the " + Twine(bytes->size) +
                  " bytes of record " + stored.record);
  int64_t all[] = {count};
  Tensor storage(all, type.getElementType(), bytes->data);
  return gatherStrided(storage, {llvm::to_vector(stored.sizes),
                                 llvm::to_vector(stored.strides),
                                 isEmpty ? 0 : stored.storageOffset});
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

TensorValue ProgramInputs::generate(unsigned argument, int64_t rank,
                                    ArrayRef<int64_t> sizes,
                                    Type elementType) const {
  analysis::InputInstance instance = placements.getInstance(argument, rank);
  RandomTensor random;
  random.seed = sources.seed;
  random.argument = argument;
  random.instance = instance.tensor;
  random.integerBound = integerBounds[argument];
  // Scale weights so that products preserve the magnitude of their input.
  bool isMatrix = sizes.size() >= 2 && !getParameterName(argument).empty();
  random.scale =
      isMatrix ? 1 / std::sqrt(std::max<double>(1, double(sizes.back()))) : 0.5;
  SmallVector<int64_t> starts(sizes.size(), 0), wholeSizes(sizes);
  // The last cut is the innermost one.
  for (const analysis::InputInstance::Cut &cut : llvm::reverse(instance.cuts)) {
    starts[cut.dim] += cut.index * wholeSizes[cut.dim];
    wholeSizes[cut.dim] *= cut.count;
  }
  return random.generate(wholeSizes, starts, sizes, elementType);
}

llvm::Expected<TensorValue> ProgramInputs::get(unsigned argument,
                                               int64_t rank) const {
  auto type =
      dyn_cast<RankedTensorType>(getFunction().getArgumentTypes()[argument]);
  // An unused input need not be given and may have any type.
  if (!type || getFunction().getArgument(argument).use_empty())
    return TensorValue();
  std::optional<ElementKind> kind = getElementKind(type.getElementType());
  if (!kind)
    return error(argument, "the runtime does not support its element type");
  SmallVector<int64_t> sizes;
  auto lookup = [&](StringRef name) -> std::optional<int64_t> {
    auto found = symbols.find(name.str());
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  };
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::optional<int64_t> size = tp::evaluateSize(type, dim, lookup);
    if (!size || *size < 0)
      return error(argument, "the size of dim " + Twine(dim) +
                                 " is unknown; give the tensor with --inputs");
    sizes.push_back(*size);
  }
  TensorValue tensor;
  std::string origin;
  if (const SafetensorsFile::Entry *entry = findInFile(argument, rank)) {
    if (entry->kind != *kind)
      return error(argument,
                   "the tensor in " + sources.file->getPath() + " has dtype " +
                       getSafetensorsName(entry->kind) +
                       ", but the program takes " + getSafetensorsName(*kind));
    origin = "the tensor in " + sources.file->getPath().str();
    tensor = std::make_shared<Tensor>(entry->sizes, type.getElementType(),
                                      entry->data);
  } else if (const archive::StoredTensor *stored = findWeight(argument, rank)) {
    origin = "the archive's tensor";
    llvm::Expected<TensorValue> weight =
        readWeight(*findWeights(rank), *stored, argument, type);
    if (!weight)
      return weight.takeError();
    tensor = std::move(*weight);
  } else {
    if (llvm::Error error = checkMemory(sizes, type.getElementType()))
      return this->error(argument, llvm::toString(std::move(error)));
    return generate(argument, rank, sizes, type.getElementType());
  }
  if (tensor->getSizes() != ArrayRef<int64_t>(sizes))
    return error(argument, origin + " has sizes " +
                               formatSizes(tensor->getSizes()) +
                               ", but the program takes " + formatSizes(sizes));
  return tensor;
}
