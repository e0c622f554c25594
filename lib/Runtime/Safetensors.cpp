//===- Safetensors.cpp - tensors in .safetensors files ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Safetensors.h"

#include "commute/Archive/InputFile.h"
#include "commute/Support/Json.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"

#include <cstring>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

static constexpr std::pair<ElementKind, llvm::StringLiteral> kindNames[] = {
    {ElementKind::Bool, "BOOL"},
    {ElementKind::I8, "I8"},
    {ElementKind::I16, "I16"},
    {ElementKind::I32, "I32"},
    {ElementKind::I64, "I64"},
    {ElementKind::U8, "U8"},
    {ElementKind::U16, "U16"},
    {ElementKind::U32, "U32"},
    {ElementKind::U64, "U64"},
    {ElementKind::F16, "F16"},
    {ElementKind::BF16, "BF16"},
    {ElementKind::F32, "F32"},
    {ElementKind::F64, "F64"},
    {ElementKind::F8E4M3FN, "F8_E4M3"},
    {ElementKind::F8E5M2, "F8_E5M2"},
    {ElementKind::F8E4M3FNUZ, "F8_E4M3FNUZ"},
    {ElementKind::F8E5M2FNUZ, "F8_E5M2FNUZ"},
    {ElementKind::F8E8M0FNU, "F8_E8M0"},
};

llvm::StringRef runtime::getSafetensorsName(ElementKind kind) {
  return llvm::find_if(kindNames,
                       [&](const auto &entry) { return entry.first == kind; })
      ->second;
}

static std::optional<ElementKind> getKindByName(StringRef name) {
  for (const auto &[kind, known] : kindNames)
    if (known == name)
      return kind;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Parses one tensor of the header. On failure, `message` is the reason.
static std::optional<SafetensorsFile::Entry>
parseEntry(JsonValue value, StringRef data, std::string &message) {
  auto refuse = [&](const Twine &reason) {
    message = reason.str();
    return std::nullopt;
  };
  SafetensorsFile::Entry entry;
  if (!value.is(JsonKind::Object))
    return refuse("expected an object with dtype, shape and data_offsets");
  JsonValue dtype = value.get("dtype"), shape = value.get("shape"),
            offsets = value.get("data_offsets");
  std::string storage;
  std::optional<StringRef> name =
      dtype ? dtype.getString(storage) : std::nullopt;
  std::optional<ElementKind> kind = name ? getKindByName(*name) : std::nullopt;
  if (!kind)
    return refuse(name ? "unknown dtype " + *name
                       : Twine("dtype is missing or not a string"));
  entry.kind = *kind;
  if (!shape || !shape.is(JsonKind::Array))
    return refuse("shape is missing or not an array");
  uint64_t numBytes = getNumBytes(*kind);
  bool overflows = false;
  for (JsonValue element : shape) {
    std::optional<int64_t> size = element.getInteger();
    if (!size || *size < 0)
      return refuse("shape has an element that is not a size");
    entry.sizes.push_back(*size);
    overflows |= __builtin_mul_overflow(numBytes, uint64_t(*size), &numBytes);
  }
  if (!offsets || !offsets.is(JsonKind::Array) || offsets.size() != 2)
    return refuse("data_offsets is missing or not a pair");
  auto element = offsets.begin();
  std::optional<int64_t> begin = (*element).getInteger();
  ++element;
  std::optional<int64_t> end = (*element).getInteger();
  if (!begin || !end || *begin < 0 || *end < *begin ||
      uint64_t(*end) > data.size())
    return refuse("data_offsets are not within the " + Twine(data.size()) +
                  " bytes of data");
  if (overflows || uint64_t(*end - *begin) != numBytes)
    return refuse("the shape does not fit its " + Twine(*end - *begin) +
                  " bytes of data");
  entry.data = std::shared_ptr<const std::byte>(
      std::shared_ptr<void>(),
      reinterpret_cast<const std::byte *>(data.data() + *begin));
  return entry;
}

llvm::Expected<SafetensorsFile>
SafetensorsFile::parse(const std::shared_ptr<llvm::MemoryBuffer> &buffer,
                       StringRef origin) {
  auto refuse = [&](const Twine &message) {
    return llvm::createStringError(origin + ": " + message);
  };
  SafetensorsFile file;
  file.path = origin.str();
  constexpr uint64_t lengthBytes = 8, maxHeaderBytes = 100u << 20;
  StringRef bytes = buffer->getBuffer();
  if (bytes.size() < lengthBytes)
    return refuse("not a safetensors file: it has only " + Twine(bytes.size()) +
                  " bytes");
  uint64_t headerBytes = llvm::support::endian::read64le(bytes.data());
  StringRef rest = bytes.drop_front(lengthBytes);
  if (headerBytes > rest.size() || headerBytes > maxHeaderBytes)
    return refuse("not a safetensors file: it states a header of " +
                  Twine(headerBytes) + " bytes");
  llvm::Expected<std::unique_ptr<JsonDocument>> document =
      JsonDocument::parse(rest.take_front(headerBytes).str());
  if (!document)
    return refuse("header: " + llvm::toString(document.takeError()));
  JsonValue root = (*document)->root();
  if (!root.is(JsonKind::Object))
    return refuse("header: expected an object");
  StringRef data = rest.drop_front(headerBytes);
  for (auto member = root.begin(); member != root.end(); ++member) {
    std::string storage, message;
    std::string name = member.key().getString(storage)->str();
    if (name == "__metadata__")
      continue;
    std::optional<Entry> entry = parseEntry(*member, data, message);
    if (!entry)
      return refuse("tensor '" + name + "': " + message);
    // Copy misaligned data.
    const std::byte *address = entry->data.get();
    size_t numBytes = getNumBytes(entry->kind);
    for (int64_t size : entry->sizes)
      numBytes *= size;
    if (reinterpret_cast<uintptr_t>(address) % getNumBytes(entry->kind) == 0) {
      entry->data = std::shared_ptr<const std::byte>(buffer, address);
    } else {
      std::shared_ptr<std::byte[]> copy(new std::byte[numBytes]);
      std::memcpy(copy.get(), address, numBytes);
      entry->data = std::shared_ptr<const std::byte>(copy, copy.get());
    }
    file.entries.emplace(std::move(name), std::move(*entry));
  }
  return file;
}

llvm::Expected<SafetensorsFile> SafetensorsFile::open(StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      archive::mapInputFile(path);
  if (!buffer)
    return buffer.takeError();
  return parse(std::move(*buffer), path);
}

const SafetensorsFile::Entry *SafetensorsFile::find(StringRef name) const {
  auto found = entries.find(name);
  return found == entries.end() ? nullptr : &found->second;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

llvm::Error runtime::writeSafetensors(StringRef path,
                                      ArrayRef<NamedTensor> tensors) {
  std::string header;
  llvm::raw_string_ostream headerStream(header);
  llvm::json::OStream json(headerStream);
  json.object([&] {
    uint64_t offset = 0;
    for (const auto &named : tensors) {
      uint64_t end = offset + named.tensor->getNumBytes();
      json.attributeObject(named.name, [&] {
        json.attribute("dtype", getSafetensorsName(named.tensor->getKind()));
        json.attribute("shape", llvm::json::Array(named.tensor->getSizes()));
        json.attribute("data_offsets",
                       llvm::json::Array{static_cast<int64_t>(offset),
                                         static_cast<int64_t>(end)});
      });
      offset = end;
    }
  });
  // The data start at a multiple of 8 bytes.
  header.append(llvm::alignTo(header.size(), 8) - header.size(), ' ');
  llvm::Error error =
      llvm::writeToOutput(path, [&](llvm::raw_ostream &os) -> llvm::Error {
        char length[8];
        llvm::support::endian::write64le(length, header.size());
        os.write(length, sizeof(length));
        os << header;
        for (const NamedTensor &named : tensors)
          os.write(reinterpret_cast<const char *>(named.tensor->getData()),
                   named.tensor->getNumBytes());
        return llvm::Error::success();
      });
  if (error)
    return llvm::createStringError(path + ": " +
                                   llvm::toString(std::move(error)));
  return llvm::Error::success();
}
