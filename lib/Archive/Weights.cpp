//===- Weights.cpp - the tensors stored in an archive -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Weights.h"

#include "commute/Archive/InputFile.h"

#include "SchemaReader.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

#include <cstring>

namespace commute::archive {

using llvm::Twine;
namespace endian = llvm::support::endian;

static constexpr uint64_t maxConfigBytes = uint64_t(256) << 20;

llvm::Error Weights::error(llvm::StringRef record, const Twine &message) const {
  return llvm::createStringError(archive->container->path() + ": record " +
                                 record + ": " + message);
}

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

/// Parses a number of the union SymInt; those of weights are never symbolic.
static llvm::LogicalResult parseNumber(SchemaReader &reader, JsonValue value,
                                       const Location &location,
                                       int64_t &result) {
  llvm::StringRef tag;
  JsonValue payload;
  if (failed(reader.unionMember(value, location, tag, payload)))
    return llvm::failure();
  if (tag != "as_int")
    return reader.fail(location, "a stored tensor cannot have symbolic sizes");
  if (failed(reader.integer(payload, location, result)))
    return llvm::failure();
  if (result < 0)
    return reader.fail(location, "must not be negative");
  return llvm::success();
}

static llvm::LogicalResult parseNumbers(SchemaReader &reader, JsonValue object,
                                        llvm::StringRef key,
                                        const Location &location,
                                        std::vector<int64_t> &result) {
  JsonValue array;
  Location place(location, key);
  if (failed(reader.member(object, key, location, array)) ||
      failed(reader.require(array, JsonKind::Array, place)))
    return llvm::failure();
  for (JsonValue element : array)
    if (failed(parseNumber(reader, element, Location(place, result.size()),
                           result.emplace_back())))
      return llvm::failure();
  return llvm::success();
}

static llvm::LogicalResult parseTensor(SchemaReader &reader, JsonValue object,
                                       const Location &location,
                                       StoredTensor &result) {
  JsonValue value, meta;
  llvm::StringRef path;
  bool isPickled = false;
  if (failed(reader.member(object, "path_name", location, value)) ||
      failed(reader.name(value, Location(location, "path_name"), path)) ||
      failed(reader.member(object, "use_pickle", location, value)) ||
      failed(
          reader.boolean(value, Location(location, "use_pickle"), isPickled)) ||
      failed(reader.member(object, "tensor_meta", location, meta)))
    return llvm::failure();
  result.record = path.str();
  result.isRaw = !isPickled;
  if (meta.is(JsonKind::Null)) {
    result.isRaw = false;
    return llvm::success();
  }
  Location place(location, "tensor_meta");
  int64_t dtype = 0;
  if (failed(reader.member(meta, "dtype", place, value)) ||
      failed(reader.integer(value, Location(place, "dtype"), dtype)) ||
      failed(parseNumbers(reader, meta, "sizes", place, result.sizes)) ||
      failed(parseNumbers(reader, meta, "strides", place, result.strides)) ||
      failed(reader.member(meta, "storage_offset", place, value)) ||
      failed(parseNumber(reader, value, Location(place, "storage_offset"),
                         result.storageOffset)))
    return llvm::failure();
  if (result.sizes.size() != result.strides.size())
    return reader.fail(place, "there are " + Twine(result.sizes.size()) +
                                  " sizes, but " +
                                  Twine(result.strides.size()) + " strides");
  if (dtype < 0 || dtype > int64_t(ScalarType::UInt64))
    return reader.fail(place, "unknown dtype " + Twine(dtype));
  result.dtype = static_cast<ScalarType>(dtype);
  return llvm::success();
}

llvm::Error Weights::readConfig(llvm::StringRef folder,
                                llvm::StringRef suffix) {
  llvm::StringRef model = archive->modelRecord;
  model.consume_front("models/");
  model.consume_back(".json");
  std::string record = (folder + model + suffix).str();
  if (!archive->container->find(record)) {
    // PyTorch 2.8 pickled all tensors of a folder into one record, which only
    // PyTorch can read.
    if (archive->container->find((folder + model + ".pt").str()))
      isDescribed = false;
    return llvm::Error::success();
  }
  llvm::Expected<std::string> text =
      archive->container->read(record, maxConfigBytes);
  if (!text)
    return text.takeError();
  llvm::Expected<std::unique_ptr<JsonDocument>> document =
      JsonDocument::parse(std::move(*text));
  if (!document)
    return error(record, llvm::toString(document.takeError()));
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver strings(allocator);
  SchemaReader reader(strings);
  auto parse = [&]() -> llvm::LogicalResult {
    Location root;
    JsonValue config;
    Location place(root, "config");
    if (failed(reader.member((*document)->root(), "config", root, config)) ||
        failed(reader.require(config, JsonKind::Object, place)))
      return llvm::failure();
    for (auto entry = config.begin(); entry != config.end(); ++entry) {
      std::string storage;
      llvm::StringRef name = *entry.key().getString(storage);
      Location tensorPlace(place, name);
      StoredTensor &tensor = tensors[name];
      if (failed(reader.require(*entry, JsonKind::Object, tensorPlace)) ||
          failed(parseTensor(reader, *entry, tensorPlace, tensor)))
        return llvm::failure();
      tensor.record = (folder + tensor.record).str();
    }
    return llvm::success();
  };
  if (failed(parse()))
    return error(record, reader.message());
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Payloads
//===----------------------------------------------------------------------===//

/// Finds the payloads of uncompressed records, which libzip does not expose.
/// The container validated the directory on opening; entries that this walk
/// does not understand are not mapped.
llvm::Error Weights::mapFile() {
  const Container &container = *archive->container;
  if (llvm::Error failure = mapInputFile(container.path()).moveInto(file))
    return failure;
  llvm::StringRef bytes = file->getBuffer();
  constexpr uint64_t endBytes = 22, locatorBytes = 20, zip64EndBytes = 56,
                     entryBytes = 46, localBytes = 30;
  size_t end = bytes.rfind("PK\5\6");
  if (end == llvm::StringRef::npos || bytes.size() - end < endBytes)
    return llvm::Error::success();
  const char *data = bytes.data();
  uint64_t at = endian::read32le(data + end + 16);
  uint64_t count = endian::read16le(data + end + 10);
  if (end >= locatorBytes &&
      bytes.substr(end - locatorBytes).starts_with("PK\6\7")) {
    uint64_t wide = endian::read64le(data + end - locatorBytes + 8);
    if (wide > bytes.size() || bytes.size() - wide < zip64EndBytes ||
        !bytes.substr(wide).starts_with("PK\6\6"))
      return llvm::Error::success();
    count = endian::read64le(data + wide + 32);
    at = endian::read64le(data + wide + 48);
  }
  std::string root = (container.root() + "/").str();
  for (; count > 0; --count) {
    if (at > bytes.size() || bytes.size() - at < entryBytes ||
        !bytes.substr(at).starts_with("PK\1\2"))
      break;
    const char *entry = data + at;
    uint64_t nameSize = endian::read16le(entry + 28);
    uint64_t extraSize = endian::read16le(entry + 30);
    uint64_t commentSize = endian::read16le(entry + 32);
    uint64_t next = at + entryBytes + nameSize + extraSize + commentSize;
    if (next > bytes.size())
      break;
    llvm::StringRef name = bytes.substr(at + entryBytes, nameSize);
    uint64_t local = endian::read32le(entry + 42);
    // For offsets of 4 GiB and more, read the last of the zip64 fields.
    if (local == 0xffffffff) {
      llvm::StringRef extra =
          bytes.substr(at + entryBytes + nameSize, extraSize);
      size_t skipped = 0;
      for (size_t field : {24, 20})
        skipped += endian::read32le(entry + field) == 0xffffffff ? 8 : 0;
      while (extra.size() >= 4) {
        uint16_t id = endian::read16le(extra.data());
        uint16_t size = endian::read16le(extra.data() + 2);
        extra = extra.drop_front(4);
        if (size > extra.size())
          break;
        if (id == 1 && size >= skipped + 8)
          local = endian::read64le(extra.data() + skipped);
        extra = extra.drop_front(size);
      }
    }
    at = next;
    if (!name.consume_front(root) || local > bytes.size() ||
        bytes.size() - local < localBytes ||
        !bytes.substr(local).starts_with("PK\3\4"))
      continue;
    uint64_t payload = local + localBytes +
                       endian::read16le(data + local + 26) +
                       endian::read16le(data + local + 28);
    const Record *record = container.find(name);
    if (record && !record->isCompressed && payload <= bytes.size() &&
        bytes.size() - payload >= record->size)
      payloads[name] = payload;
  }
  return llvm::Error::success();
}

llvm::Expected<Weights> Weights::describe(const ProgramArchive &archive) {
  Weights weights;
  weights.archive = &archive;
  if (llvm::Error error =
          weights.readConfig("data/weights/", "_weights_config.json"))
    return std::move(error);
  if (llvm::Error error =
          weights.readConfig("data/constants/", "_constants_config.json"))
    return std::move(error);
  return weights;
}

llvm::Error Weights::checkRecords(const ProgramArchive &archive) {
  llvm::Expected<Weights> weights = describe(archive);
  if (!weights)
    return weights.takeError();
  if (!weights->isDescribed)
    return llvm::Error::success();
  for (const InputSpec &input : archive.program->inputSpecs) {
    if (input.kind != InputKind::Parameter && input.kind != InputKind::Buffer &&
        input.kind != InputKind::TensorConstant)
      continue;
    const StoredTensor *tensor = weights->find(input.target);
    if (!tensor)
      return llvm::createStringError(
          archive.container->path() + ": the program needs " +
          inputKindName(input.kind) + " " + quoted(input.target) +
          ", but no record data/weights/*_weights_config.json or "
          "data/constants/*_constants_config.json states where it is stored");
    if (!archive.container->find(tensor->record))
      return weights->error(tensor->record, "missing, although " +
                                                quoted(input.target) +
                                                " is listed as stored in it");
  }
  return llvm::Error::success();
}

llvm::Expected<Weights> Weights::open(const ProgramArchive &archive) {
  llvm::Expected<Weights> weights = describe(archive);
  if (!weights)
    return weights.takeError();
  if (llvm::Error error = weights->mapFile())
    return std::move(error);
  return weights;
}

const StoredTensor *Weights::find(llvm::StringRef name) const {
  auto found = tensors.find(name);
  return found == tensors.end() ? nullptr : &found->second;
}

bool Weights::hasBytes(const StoredTensor &tensor) const {
  const Record *record = archive->container->find(tensor.record);
  return !record || record->size > 0;
}

llvm::Expected<Weights::Bytes> Weights::load(const StoredTensor &tensor) const {
  constexpr uintptr_t alignment = 8;
  const Record *record = archive->container->find(tensor.record);
  if (!record)
    return error(tensor.record, "the archive does not contain this record, "
                                "although weights are listed as stored in it");
  Bytes result;
  result.size = record->size;
  auto payload = payloads.find(tensor.record);
  if (payload != payloads.end()) {
    const char *data = file->getBufferStart() + payload->second;
    if (reinterpret_cast<uintptr_t>(data) % alignment == 0) {
      result.data = std::shared_ptr<const std::byte>(
          file, reinterpret_cast<const std::byte *>(data));
      return result;
    }
  }
  llvm::Expected<std::string> text =
      archive->container->read(tensor.record, record->size);
  if (!text)
    return text.takeError();
  std::shared_ptr<std::byte[]> copy(new std::byte[text->size() + alignment]);
  std::memcpy(copy.get(), text->data(), text->size());
  result.data = std::shared_ptr<const std::byte>(copy, copy.get());
  return result;
}

} // namespace commute::archive
