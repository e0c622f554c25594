//===- ZipBuilder.h - zip files byte by byte --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Builds zip files in memory, right ones and ones that lie: no library writes
// the latter.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_ARCHIVE_ZIPBUILDER_H
#define COMMUTE_UNITTESTS_ARCHIVE_ZIPBUILDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CRC.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct ZipEntry {
  std::string name;
  /// The bytes that lie in the file.
  std::string data;

  /// What the directory states; by default the truth.
  std::optional<uint32_t> size = std::nullopt;
  std::optional<uint32_t> compressedSize = std::nullopt;
  std::optional<uint32_t> checksum = std::nullopt;
  uint16_t method = 0;
  uint16_t flags = 0;
};

class ZipBuilder {
public:
  ZipBuilder &add(ZipEntry entry) {
    entries.push_back(std::move(entry));
    return *this;
  }
  ZipBuilder &add(std::string name, std::string data) {
    return add(ZipEntry{std::move(name), std::move(data)});
  }

  std::string build() const {
    std::string file, directory;
    for (const ZipEntry &entry : entries) {
      uint32_t offset = file.size();
      std::string common;
      append(common, entry.flags, 2);
      append(common, entry.method, 2);
      append(common, 0, 2);          // time
      append(common, 1 << 5 | 1, 2); // date: 1980-01-01
      append(common,
             entry.checksum.value_or(llvm::crc32(llvm::ArrayRef(
                 reinterpret_cast<const uint8_t *>(entry.data.data()),
                 entry.data.size()))),
             4);
      append(common, entry.compressedSize.value_or(entry.data.size()), 4);
      append(common, entry.size.value_or(entry.data.size()), 4);
      append(common, entry.name.size(), 2);
      append(common, 0, 2); // extra field

      file += "PK\3\4";
      append(file, 20, 2);
      file += common + entry.name + entry.data;

      directory += "PK\1\2";
      append(directory, 20, 2);
      append(directory, 20, 2);
      directory += common;
      append(directory, 0, 2); // comment
      append(directory, 0, 2); // disk
      append(directory, 0, 2); // internal attributes
      append(directory, 0, 4); // external attributes
      append(directory, offset, 4);
      directory += entry.name;
    }
    uint64_t directoryOffset = file.size();
    file += directory;
    if (zip64EntryCount) {
      uint64_t recordOffset = file.size();
      file += "PK\6\6";
      append(file, 44, 8);
      append(file, 45, 2);
      append(file, 45, 2);
      append(file, 0, 4);
      append(file, 0, 4);
      append(file, *zip64EntryCount, 8);
      append(file, *zip64EntryCount, 8);
      append(file, directory.size(), 8);
      append(file, directoryOffset, 8);
      file += "PK\6\7";
      append(file, 0, 4);
      append(file, recordOffset, 8);
      append(file, 1, 4);
    }
    file += "PK\5\6";
    append(file, 0, 2);
    append(file, 0, 2);
    uint64_t count = zip64EntryCount ? 0xFFFF : entries.size();
    append(file, count, 2);
    append(file, count, 2);
    append(file, zip64EntryCount ? 0xFFFFFFFF : directory.size(), 4);
    append(file, zip64EntryCount ? 0xFFFFFFFF : directoryOffset, 4);
    append(file, 0, 2);
    return file;
  }

  /// Writes a zip64 end record that states this many entries.
  std::optional<uint64_t> zip64EntryCount;

private:
  static void append(std::string &out, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      out += static_cast<char>(value >> (8 * i));
  }

  std::vector<ZipEntry> entries;
};

#endif // COMMUTE_UNITTESTS_ARCHIVE_ZIPBUILDER_H
