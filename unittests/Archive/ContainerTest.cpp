//===- ContainerTest.cpp - tests of reading containers --------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Container.h"

#include "TemporaryFolder.h"
#include "ZipBuilder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute::archive;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

static std::string openError(const std::string &bytes,
                             const ContainerLimits &limits = {}) {
  auto container = Container::openBytes(bytes, "a.pt2", limits);
  return container ? "" : llvm::toString(container.takeError());
}
static std::string openError(const ZipBuilder &zip,
                             const ContainerLimits &limits = {}) {
  return openError(zip.build(), limits);
}
static std::unique_ptr<Container> open(const std::string &bytes) {
  auto container = Container::openBytes(bytes, "a.pt2");
  if (!container) {
    ADD_FAILURE() << llvm::toString(container.takeError());
    return nullptr;
  }
  return std::move(*container);
}
/// The content of the record, or the error.
static std::string read(const Container &container, llvm::StringRef name,
                        uint64_t maxBytes = 1 << 20) {
  auto content = container.read(name, maxBytes);
  return content ? *content : "error: " + llvm::toString(content.takeError());
}
static std::string nameError(std::string name) {
  return openError(ZipBuilder().add("m/first", "").add(std::move(name), ""));
}

/// Raw deflate, as zip files have it: zlib's form without header and checksum.
static std::string deflated(const std::string &data) {
  llvm::SmallVector<uint8_t> compressed;
  llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(data),
                                    compressed);
  return llvm::toStringRef(
             llvm::ArrayRef(compressed).drop_front(2).drop_back(4))
      .str();
}
static ZipEntry deflatedEntry(std::string name, const std::string &data) {
  ZipEntry entry;
  entry.name = std::move(name);
  entry.data = deflated(data);
  entry.size = data.size();
  entry.checksum = llvm::crc32(llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(data.data()), data.size()));
  entry.method = 8;
  return entry;
}

TEST(Container, ReadsRecords) {
  std::string bytes = ZipBuilder()
                          .add("m/archive_format", "pt2")
                          .add("m/models/model.json", "{}")
                          .add("m/empty", "")
                          .build();
  auto container = open(bytes);
  ASSERT_TRUE(container);
  EXPECT_EQ(container->root(), "m");
  EXPECT_EQ(container->path(), "a.pt2");
  std::vector<std::string> names;
  for (const Record &record : container->records())
    names.push_back(record.name);
  EXPECT_THAT(names,
              ElementsAre("archive_format", "models/model.json", "empty"));
  EXPECT_EQ(container->find("models/model.json")->size, 2u);
  EXPECT_EQ(container->find("m/archive_format"), nullptr);
  EXPECT_EQ(read(*container, "archive_format"), "pt2");
  EXPECT_EQ(read(*container, "empty"), "");
  EXPECT_EQ(read(*container, "nothing"),
            "error: a.pt2: record nothing: the archive has no such record");
}

TEST(Container, ReadsDeflatedRecords) {
  std::string data(100000, 'x');
  std::string bytes =
      ZipBuilder().add(deflatedEntry("m/a", data)).add("m/b", data).build();
  auto container = open(bytes);
  ASSERT_TRUE(container);
  EXPECT_TRUE(container->find("a")->isCompressed);
  EXPECT_FALSE(container->find("b")->isCompressed);
  EXPECT_EQ(read(*container, "a"), data);
}

TEST(Container, StreamsInOrderAndStopsOnError) {
  std::string data;
  for (int i = 0; i < 200000; ++i)
    data += std::to_string(i);
  std::string bytes = ZipBuilder().add("m/a", data).build();
  auto container = open(bytes);
  ASSERT_TRUE(container);
  std::string seen;
  size_t pieces = 0;
  llvm::Error error = container->stream("a", [&](llvm::StringRef piece) {
    seen += piece;
    ++pieces;
    return llvm::Error::success();
  });
  EXPECT_FALSE(bool(error));
  EXPECT_EQ(seen, data);
  EXPECT_GT(pieces, 1u);
  error = container->stream(
      "a", [&](llvm::StringRef) { return llvm::createStringError("enough"); });
  EXPECT_EQ(llvm::toString(std::move(error)), "enough");
}

TEST(Container, OpensFiles) {
  TemporaryFolder folder;
  std::string file =
      folder.write("model.pt2", ZipBuilder().add("m/a", "x").build());
  auto container = Container::open(file);
  ASSERT_TRUE(bool(container));
  EXPECT_EQ(read(**container, "a"), "x");

  auto missing = Container::open(folder.path("missing.pt2"));
  ASSERT_FALSE(bool(missing));
  EXPECT_THAT(llvm::toString(missing.takeError()),
              testing::AllOf(StartsWith(folder.path("missing.pt2") + ": "),
                             HasSubstr("No such file")));
  EXPECT_THAT(folder.list(), ElementsAre("model.pt2"));

  for (const std::string &path : {folder.path(""), std::string("/dev/null")}) {
    auto special = Container::open(path);
    ASSERT_FALSE(bool(special));
    EXPECT_EQ(llvm::toString(special.takeError()),
              path + ": not a regular file");
  }
}

TEST(Container, RefusesWhatIsNoZip) {
  EXPECT_THAT(openError(std::string()), StartsWith("a.pt2: "));
  EXPECT_THAT(openError(std::string(1000, 'x')),
              HasSubstr("not a .pt2 archive (a zip file)"));
  EXPECT_THAT(openError(ZipBuilder().build()), HasSubstr("archive is empty"));
}

TEST(Container, RefusesEveryTruncation) {
  std::string bytes =
      ZipBuilder().add("m/archive_format", "pt2").add("m/b", "12").build();
  EXPECT_EQ(openError(bytes), "");
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(openError(bytes.substr(0, length)), "") << length;
}

TEST(Container, RefusesNamesThatLeadOut) {
  EXPECT_EQ(nameError("m/a"), "");
  EXPECT_EQ(nameError("m/a..b/.c/...."), "");
  EXPECT_THAT(nameError("m/../a"), HasSubstr("a component '..'"));
  EXPECT_THAT(nameError("m/./a"), HasSubstr("a component '.'"));
  EXPECT_THAT(nameError("../m/a"), HasSubstr("a component '..'"));
  EXPECT_THAT(nameError("m/.."), HasSubstr("a component '..'"));
  EXPECT_THAT(nameError("/m/a"), HasSubstr("absolute path"));
  EXPECT_THAT(nameError("m//a"), HasSubstr("empty component"));
  EXPECT_THAT(nameError("m\\a"), HasSubstr("backslash"));
  EXPECT_THAT(nameError("m/a/"), HasSubstr("this entry is a folder"));
  EXPECT_THAT(nameError(""), HasSubstr("empty component"));
}

TEST(Container, RefusesNamesThatCannotBeShown) {
  EXPECT_EQ(nameError("m/\xC3\xA9"), "");
  EXPECT_EQ(nameError("m/a\nb"),
            "a.pt2: entry 'm/a\\0Ab': the name has a control character");
  EXPECT_THAT(nameError("m/\xFF"), HasSubstr("not valid UTF-8"));
  ContainerLimits limits;
  EXPECT_EQ(nameError("m/" + std::string(limits.maxNameBytes - 2, 'a')), "");
  std::string error = nameError("m/" + std::string(limits.maxNameBytes, 'a'));
  EXPECT_THAT(
      error, HasSubstr("the name has 4098 bytes, more than the limit of 4096"));
  EXPECT_LT(error.size(), 400u);
}

TEST(Container, RefusesEntriesOutsideTheRoot) {
  EXPECT_THAT(
      nameError("n/a"),
      HasSubstr("entry 'n/a': it is outside the archive's root folder 'm'"));
  EXPECT_THAT(nameError("a"), HasSubstr("it is not in a folder"));
  EXPECT_THAT(openError(ZipBuilder().add("a", "")),
              HasSubstr("it is not in a folder"));
}

TEST(Container, ExplainsOldArchives) {
  EXPECT_THAT(openError(ZipBuilder()
                            .add("version", "8.7")
                            .add("serialized_exported_program.json", "{}")),
              testing::AllOf(HasSubstr("PyTorch 2.7 or older"),
                             HasSubstr("export it again")));
}

TEST(Container, RefusesDuplicates) {
  EXPECT_THAT(nameError("m/first"), HasSubstr("contains this entry twice"));
}

TEST(Container, RefusesEncryptedAndUnknownMethods) {
  ZipEntry entry{"m/a", "0123456789abcdef"};
  EXPECT_EQ(openError(ZipBuilder().add(entry)), "");
  entry.flags = 1;
  EXPECT_THAT(openError(ZipBuilder().add(entry)), HasSubstr("is encrypted"));
  entry.flags = 0;
  entry.method = 12;
  EXPECT_THAT(openError(ZipBuilder().add(entry)),
              HasSubstr("compression method 12 is not supported"));
}

TEST(Container, LimitsEntries) {
  ContainerLimits limits;
  limits.maxRecords = 3;
  ZipBuilder zip;
  zip.add("m/a", "").add("m/b", "").add("m/c", "");
  EXPECT_EQ(openError(zip, limits), "");
  zip.add("m/d", "");
  EXPECT_EQ(openError(zip, limits),
            "a.pt2: the archive has 4 records, more than the limit of 3");
}

TEST(Container, RefusesLyingEntryCounts) {
  ZipBuilder zip;
  zip.add("m/a", "x");
  zip.zip64EntryCount = 1;
  EXPECT_EQ(openError(zip), "");
  for (uint64_t count :
       {uint64_t(1) << 40, ~uint64_t(0), uint64_t(100), uint64_t(2)}) {
    zip.zip64EntryCount = count;
    EXPECT_NE(openError(zip), "") << count;
  }
  zip.zip64EntryCount = uint64_t(1) << 40;
  EXPECT_THAT(openError(zip), HasSubstr("it states 1099511627776 entries"));
}

TEST(Container, LimitsWhatIsRead) {
  std::string bytes = ZipBuilder().add("m/a", "12345").build();
  auto container = open(bytes);
  ASSERT_TRUE(container);
  EXPECT_EQ(read(*container, "a", 5), "12345");
  EXPECT_EQ(read(*container, "a", 4),
            "error: a.pt2: record a: it has 5 bytes, more than the limit of 4");
}

TEST(Container, RefusesWrongChecksums) {
  ZipEntry entry{"m/a", "12345"};
  entry.checksum = 1;
  std::string bytes = ZipBuilder().add(entry).add("m/b", "1").build();
  auto container = open(bytes);
  ASSERT_TRUE(container);
  EXPECT_THAT(read(*container, "a"),
              StartsWith("error: a.pt2: record a: damaged: "));
  EXPECT_EQ(read(*container, "b"), "1");
}

TEST(Container, RefusesLyingSizes) {
  // Of stored entries both sizes must agree.
  ZipEntry stored{"m/a", "12345"};
  stored.size = 6;
  EXPECT_THAT(openError(ZipBuilder().add(stored)),
              HasSubstr("with 5 bytes in the file for 6 bytes of content"));
  // More than the file has.
  stored.size = stored.compressedSize = 0x7FFFFFFF;
  std::string bytes = ZipBuilder().add(stored).build();
  auto container = open(bytes);
  ASSERT_TRUE(container);
  EXPECT_THAT(read(*container, "a", ~uint64_t(0)), StartsWith("error: "));

  std::string data(100000, 'x');
  for (uint32_t size : {0u, 1u, 99999u, 100001u}) {
    ZipEntry entry = deflatedEntry("m/a", data);
    entry.size = size;
    bytes = ZipBuilder().add(entry).build();
    container = open(bytes);
    ASSERT_TRUE(container);
    EXPECT_THAT(read(*container, "a", ~uint64_t(0)),
                StartsWith("error: a.pt2: record a: damaged: "))
        << size;
  }
  ZipEntry growing = deflatedEntry("m/a", data);
  growing.size = 0x7FFFFFFF;
  EXPECT_THAT(openError(ZipBuilder().add(growing)),
              HasSubstr("would inflate to 2147483647, by more than a factor of "
                        "200"));
  bytes = ZipBuilder().add(deflatedEntry("m/a", data)).build();
  container = open(bytes);
  ASSERT_TRUE(container);
  EXPECT_EQ(read(*container, "a"), data);
}

TEST(Container, RefusesDamagedCompression) {
  ZipEntry entry = deflatedEntry("m/a", std::string(1000, 'x'));
  entry.data[0] = '\x07'; // a block type that deflate does not have
  std::string bytes = ZipBuilder().add(entry).build();
  auto container = open(bytes);
  ASSERT_TRUE(container);
  EXPECT_THAT(read(*container, "a"), StartsWith("error: "));
}
