//===- ContainerWriter.cpp - writing the container of a .pt2 archive ------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ContainerImplementation.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"

#include <deque>

namespace commute::archive {

namespace {
/// Sizes fixed by the zip format.
constexpr uint64_t localHeaderBytes = 30;
constexpr uint64_t extraFieldHeaderBytes = 4;
/// Additional size of a local header if a size does not fit in 32 bits.
constexpr uint64_t zip64ExtraFieldBytes = extraFieldHeaderBytes + 16;
/// The extra field by which PyTorch aligns payloads.
constexpr uint16_t paddingFieldId = 'F' | 'B' << 8;
constexpr uint64_t payloadAlignment = 64;
} // namespace

struct ContainerWriter::Implementation {
  ~Implementation() {
    if (archive)
      zip_discard(archive);
  }

  llvm::Error error(const llvm::Twine &message) const {
    return llvm::createStringError(path + ": " + message);
  }
  llvm::Error addEntry(llvm::StringRef name, zip_source_t *source,
                       uint64_t size);

  std::string path;
  std::string root;
  zip_t *archive = nullptr;
  /// libzip reads these at commit. A deque does not move its elements.
  std::deque<std::string> contents;
  /// Offset of the next local header.
  uint64_t offset = 0;
  uint64_t entryCount = 0;
};

ContainerWriter::ContainerWriter(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
ContainerWriter::~ContainerWriter() = default;

llvm::Expected<std::unique_ptr<ContainerWriter>>
ContainerWriter::create(llvm::StringRef path, llvm::StringRef root) {
  auto implementation = std::make_unique<Implementation>();
  implementation->path = path.str();
  implementation->root = root.str();
  // Renaming would replace a device or pipe by a regular file, and a symbolic
  // link instead of its target.
  llvm::sys::fs::file_status status;
  llvm::SmallString<256> target = path;
  if (!llvm::sys::fs::status(path, status)) {
    if (!llvm::sys::fs::is_regular_file(status))
      return implementation->error(
          "an archive can be written only to a regular file");
    if (std::error_code code = llvm::sys::fs::real_path(path, target))
      return implementation->error(code.message());
  }

  int code = 0;
  implementation->archive =
      zip_open(target.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!implementation->archive) {
    zip_error_t zipError;
    zip_error_init_with_code(&zipError, code);
    return implementation->error("cannot write: " + takeMessage(zipError));
  }
  return std::unique_ptr<ContainerWriter>(
      new ContainerWriter(std::move(implementation)));
}

/// Adds an entry whose payload is `source`, and takes ownership of `source`.
llvm::Error ContainerWriter::Implementation::addEntry(llvm::StringRef name,
                                                      zip_source_t *source,
                                                      uint64_t size) {
  std::string entryName = root + "/" + name.str();
  auto fail = [&] {
    return error("record " + name + ": " + zip_strerror(archive));
  };
  if (!source)
    return fail();
  int64_t index =
      zip_file_add(archive, entryName.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    llvm::Error failure = fail();
    zip_source_free(source);
    return failure;
  }

  // libzip writes a zip64 header depending on the size alone.
  uint64_t headerBytes = localHeaderBytes + entryName.size() +
                         (size > UINT32_MAX ? zip64ExtraFieldBytes : 0);
  uint64_t payload = llvm::alignTo(offset + headerBytes + extraFieldHeaderBytes,
                                   payloadAlignment);
  std::string padding(payload - offset - headerBytes - extraFieldHeaderBytes,
                      'Z');
  // Use the same time stamp for all entries, so that equal input yields equal
  // files: 1980-01-01 00:00, the earliest that zip can represent.
  constexpr uint16_t zipTime = 0, zipDate = 1 << 5 | 1;
  if (zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, index, zipTime, zipDate, 0) != 0 ||
      zip_file_extra_field_set(
          archive, index, paddingFieldId, ZIP_EXTRA_FIELD_NEW,
          reinterpret_cast<const zip_uint8_t *>(padding.data()), padding.size(),
          ZIP_FL_LOCAL) != 0)
    return fail();
  offset = payload + size;
  ++entryCount;
  return llvm::Error::success();
}

llvm::Error ContainerWriter::add(llvm::StringRef name, std::string bytes) {
  std::string &content =
      implementation->contents.emplace_back(std::move(bytes));
  return implementation->addEntry(
      name,
      zip_source_buffer(implementation->archive, content.data(), content.size(),
                        /*freep=*/0),
      content.size());
}

llvm::Error ContainerWriter::copy(const Container &source,
                                  llvm::StringRef name) {
  const Record *record = source.find(name);
  if (!record)
    return source.implementation->recordError(name,
                                              "the archive has no such record");
  uint64_t index = record - source.records().data();
  return implementation->addEntry(
      name,
      zip_source_zip(implementation->archive, source.implementation->archive,
                     index, /*flags=*/0, /*start=*/0, /*len=*/-1),
      record->size);
}

llvm::Error ContainerWriter::commit() {
  // libzip would delete an empty archive.
  if (implementation->entryCount == 0)
    return implementation->error("an archive needs at least one record");
  if (zip_close(implementation->archive) != 0)
    return implementation->error(
        "cannot write: " + llvm::Twine(zip_strerror(implementation->archive)));
  implementation->archive = nullptr;
  return llvm::Error::success();
}

} // namespace commute::archive
