//===- Container.cpp - reading the zip container of a .pt2 archive --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ContainerImplementation.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

namespace commute::archive {

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::string takeMessage(zip_error_t &error) {
  std::string message = zip_error_strerror(&error);
  zip_error_fini(&error);
  return message;
}

llvm::Error Container::Implementation::error(const llvm::Twine &message) const {
  return llvm::createStringError(path + ": " + message);
}
llvm::Error
Container::Implementation::recordError(llvm::StringRef record,
                                       const llvm::Twine &message) const {
  return llvm::createStringError(path + ": record " + record + ": " + message);
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

Container::Implementation::~Implementation() {
  if (archive)
    zip_discard(archive);
}

/// Checks the entry count that the archive states, because libzip allocates
/// memory for all entries: a file of a few bytes may state 2^64 of them.
llvm::Error Container::Implementation::checkStatedEntryCount(
    zip_source_t *source, const ContainerLimits &limits) {
  // The end record is 22 bytes plus a comment of up to 65535 bytes. A zip64
  // locator of 20 bytes precedes it.
  constexpr uint64_t endRecordBytes = 22, locatorBytes = 20,
                     zip64EndRecordBytes = 56, directoryEntryBytes = 46,
                     longestTail = endRecordBytes + 65535 + locatorBytes;
  zip_stat_t stat;
  if (zip_source_stat(source, &stat) != 0 || !(stat.valid & ZIP_STAT_SIZE))
    return error(zip_error_strerror(zip_source_error(source)));
  uint64_t size = archiveBytes = stat.size;
  // libzip 1.7 crashes when it seeks in an empty buffer.
  if (size < endRecordBytes)
    return error("not a .pt2 archive (a zip file): it has "
                 "only " +
                 llvm::Twine(size) + " bytes");
  if (zip_source_open(source) != 0)
    return error(zip_error_strerror(zip_source_error(source)));
  llvm::scope_exit close([&] { zip_source_close(source); });

  auto readAt = [&](uint64_t offset, char *data, uint64_t length) {
    return zip_source_seek(source, offset, SEEK_SET) == 0 &&
           zip_source_read(source, data, length) == int64_t(length);
  };
  std::string tail(std::min(size, longestTail), '\0');
  if (!readAt(size - tail.size(), tail.data(), tail.size()))
    return error("cannot read the end of the file");

  // Check all end records, because libzip's choice between several is not
  // specified. End records of stored zip files (such as sample inputs) have
  // offsets that do not lead to a record.
  for (size_t at = tail.find("PK\6\7"); at != std::string::npos;
       at = tail.find("PK\6\7", at + 1)) {
    if (tail.size() - at < locatorBytes)
      break;
    uint64_t offset = llvm::support::endian::read64le(tail.data() + at + 8);
    char record[zip64EndRecordBytes];
    if (offset > size || size - offset < sizeof(record) ||
        !readAt(offset, record, sizeof(record)) ||
        !llvm::StringRef(record, sizeof(record)).starts_with("PK\6\6"))
      continue;
    uint64_t entries = std::max(llvm::support::endian::read64le(record + 24),
                                llvm::support::endian::read64le(record + 32));
    if (entries > size / directoryEntryBytes)
      return error("damaged zip file: it states " + llvm::Twine(entries) +
                   " entries, more than fit into its " + llvm::Twine(size) +
                   " bytes");
    if (entries > limits.maxRecords)
      return error("the archive has " + llvm::Twine(entries) +
                   " records, more than the limit of " +
                   llvm::Twine(limits.maxRecords));
  }
  return llvm::Error::success();
}

llvm::Error
Container::Implementation::openSource(zip_source_t *source,
                                      const ContainerLimits &limits) {
  if (llvm::Error failure = checkStatedEntryCount(source, limits)) {
    zip_source_free(source);
    return failure;
  }
  zip_error_t zipError;
  zip_error_init(&zipError);
  archive = zip_open_from_source(source, ZIP_RDONLY, &zipError);
  if (!archive) {
    zip_source_free(source);
    return error("not a .pt2 archive (a zip file): " + takeMessage(zipError));
  }
  zip_error_fini(&zipError);

  uint64_t count = zip_get_num_entries(archive, 0);
  if (count == 0)
    return error("the archive is empty");
  if (count > limits.maxRecords)
    return error("the archive has " + llvm::Twine(count) +
                 " records, more than the limit of " +
                 llvm::Twine(limits.maxRecords));

  // PyTorch 2.7 and older wrote a zip file without a root folder.
  if (zip_name_locate(archive, "serialized_exported_program.json", 0) >= 0)
    return error("the archive was written by PyTorch 2.7 or older, which is "
                 "not supported: load it with that version and export it again "
                 "with PyTorch 2.9 or newer");

  records.reserve(count);
  for (uint64_t index = 0; index < count; ++index)
    if (llvm::Error failure = addRecord(index, limits))
      return failure;
  return llvm::Error::success();
}

llvm::Error
Container::Implementation::checkName(llvm::StringRef name,
                                     const ContainerLimits &limits) const {
  auto refuse = [&](const llvm::Twine &reason) {
    return error("entry " + quoted(name) + ": " + reason);
  };
  if (name.size() > limits.maxNameBytes)
    return refuse("the name has " + llvm::Twine(name.size()) +
                  " bytes, more than the limit of " +
                  llvm::Twine(limits.maxNameBytes));
  if (!llvm::json::isUTF8(name))
    return refuse("the name is not valid UTF-8");
  if (llvm::any_of(name, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      }))
    return refuse("the name has a control character");
  if (name.contains('\\'))
    return refuse("the name has a backslash; folders are separated by '/'");
  if (name.starts_with("/"))
    return refuse("the name is an absolute path; names are relative to the "
                  "archive's root folder");
  if (name.ends_with("/"))
    return refuse("this entry is a folder, which PyTorch archives do not "
                  "contain; repack without folder entries (zip -D)");
  for (llvm::StringRef component : llvm::split(name, '/')) {
    if (component.empty())
      return refuse("the name has an empty component ('//' or no name at all)");
    if (component == "." || component == "..")
      return refuse("the name has a component '" + component +
                    "', which may lead out of the archive");
  }
  return llvm::Error::success();
}

llvm::Error
Container::Implementation::addRecord(uint64_t index,
                                     const ContainerLimits &limits) {
  zip_stat_t stat;
  const char *rawName = zip_get_name(archive, index, ZIP_FL_ENC_RAW);
  if (!rawName || zip_stat_index(archive, index, 0, &stat) != 0)
    return error("entry #" + llvm::Twine(index) + ": " + zip_strerror(archive));
  llvm::StringRef name = rawName;
  if (llvm::Error failure = checkName(name, limits))
    return failure;

  auto refuse = [&](const llvm::Twine &reason) {
    return error("entry " + quoted(name) + ": " + reason);
  };
  auto [folder, rest] = name.split('/');
  if (rest.empty())
    return refuse("it is not in a folder; all entries of a .pt2 archive are "
                  "under one root folder");
  if (index == 0)
    root = folder.str();
  else if (folder != root)
    return refuse("it is outside the archive's root folder '" + root +
                  "' (the root of the first entry)");

  constexpr zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                  ZIP_STAT_COMP_METHOD |
                                  ZIP_STAT_ENCRYPTION_METHOD;
  if ((stat.valid & needed) != needed)
    return refuse(
        "the zip directory gives no size or compression method for it");
  if (stat.encryption_method != ZIP_EM_NONE)
    return refuse("it is encrypted");
  if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
    return refuse(
        "compression method " + llvm::Twine(stat.comp_method) +
        " is not supported; PyTorch reads stored and deflated entries");
  if (stat.comp_method == ZIP_CM_STORE && stat.size != stat.comp_size)
    return refuse("it is stored without compression, but with " +
                  llvm::Twine(stat.comp_size) + " bytes in the file for " +
                  llvm::Twine(stat.size) + " bytes of content");

  if (stat.comp_method == ZIP_CM_DEFLATE) {
    if (stat.size > ContainerLimits::smallRecordBytes &&
        stat.size / limits.maxInflation > stat.comp_size)
      return refuse("its " + llvm::Twine(stat.comp_size) +
                    " bytes would inflate to " + llvm::Twine(stat.size) +
                    ", by more than a factor of " +
                    llvm::Twine(limits.maxInflation) +
                    " (--max-inflation=FACTOR allows more)");
    if (stat.size > limits.maxInflatedBytes - inflatedBytes)
      return refuse(
          "the archive's deflated records would inflate to more than " +
          llvm::Twine(limits.maxInflatedBytes) +
          " bytes (--max-inflated-bytes=N allows more)");
    inflatedBytes += stat.size;
  }
  if (!indices.try_emplace(rest, index).second)
    return refuse("the archive contains this entry twice");
  records.push_back({rest.str(), stat.size, stat.comp_method != ZIP_CM_STORE});
  return llvm::Error::success();
}

Container::Container(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
Container::~Container() = default;

llvm::Expected<std::unique_ptr<Container>>
Container::open(llvm::StringRef path, const ContainerLimits &limits) {
  auto implementation = std::make_unique<Implementation>();
  implementation->path = path.str();
  // A zip file's directory is at the end, so the file must be seekable: reject
  // pipes and devices.
  llvm::sys::fs::file_status status;
  if (std::error_code code = llvm::sys::fs::status(path, status))
    return implementation->error(code.message());
  if (!llvm::sys::fs::is_regular_file(status))
    return implementation->error("not a regular file");
  zip_error_t zipError;
  zip_error_init(&zipError);
  zip_source_t *source =
      zip_source_file_create(implementation->path.c_str(), 0, -1, &zipError);
  if (!source)
    return implementation->error(takeMessage(zipError));
  zip_error_fini(&zipError);
  if (llvm::Error failure = implementation->openSource(source, limits))
    return failure;
  return std::unique_ptr<Container>(new Container(std::move(implementation)));
}

llvm::Expected<std::unique_ptr<Container>>
Container::openBytes(llvm::StringRef bytes, llvm::StringRef displayName,
                     const ContainerLimits &limits) {
  auto implementation = std::make_unique<Implementation>();
  implementation->path = displayName.str();
  zip_error_t zipError;
  zip_error_init(&zipError);
  zip_source_t *source = zip_source_buffer_create(bytes.data(), bytes.size(),
                                                  /*freep=*/0, &zipError);
  if (!source)
    return implementation->error(takeMessage(zipError));
  zip_error_fini(&zipError);
  if (llvm::Error failure = implementation->openSource(source, limits))
    return failure;
  return std::unique_ptr<Container>(new Container(std::move(implementation)));
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

llvm::StringRef Container::path() const { return implementation->path; }
llvm::StringRef Container::root() const { return implementation->root; }
llvm::ArrayRef<Record> Container::records() const {
  return implementation->records;
}
const Record *Container::find(llvm::StringRef name) const {
  auto found = implementation->indices.find(name);
  if (found == implementation->indices.end())
    return nullptr;
  return &implementation->records[found->second];
}

llvm::Error Container::stream(
    llvm::StringRef name,
    llvm::function_ref<llvm::Error(llvm::StringRef)> consume) const {
  const Record *record = find(name);
  if (!record)
    return implementation->recordError(name, "the archive has no such record");
  uint64_t index = record - implementation->records.data();
  zip_t *archive = implementation->archive;
  zip_file_t *file = zip_fopen_index(archive, index, 0);
  if (!file)
    return implementation->recordError(name, zip_strerror(archive));
  llvm::scope_exit close([&] { zip_fclose(file); });

  std::vector<char> buffer(std::clamp<uint64_t>(record->size, 1, 1 << 18));
  uint64_t total = 0;
  while (true) {
    // Reading to the end makes libzip compare size and checksum.
    int64_t count = zip_fread(file, buffer.data(), buffer.size());
    if (count < 0)
      return implementation->recordError(
          name, "damaged: " + llvm::Twine(zip_file_strerror(file)));
    if (count == 0)
      break;
    total += count;
    if (total > record->size)
      break;
    if (llvm::Error failure = consume(llvm::StringRef(buffer.data(), count)))
      return failure;
  }
  if (total != record->size)
    return implementation->recordError(
        name, "damaged: the zip directory states " + llvm::Twine(record->size) +
                  " bytes, but the record has " +
                  (total > record->size ? "more" : llvm::Twine(total)));
  return llvm::Error::success();
}

llvm::Expected<std::string> Container::read(llvm::StringRef name,
                                            uint64_t maxBytes) const {
  const Record *record = find(name);
  if (record && record->size > maxBytes)
    return implementation->recordError(
        name, "it has " + llvm::Twine(record->size) +
                  " bytes, more than the limit of " + llvm::Twine(maxBytes));
  std::lock_guard<std::mutex> lock(implementation->reading);
  // The stated size may be wrong, so do not allocate more in advance than the
  // size of the file justifies.
  std::string content;
  if (record)
    content.reserve(std::min(record->size, implementation->archiveBytes));
  if (llvm::Error failure = stream(name, [&](llvm::StringRef piece) {
        content += piece;
        return llvm::Error::success();
      }))
    return failure;
  return content;
}

} // namespace commute::archive
