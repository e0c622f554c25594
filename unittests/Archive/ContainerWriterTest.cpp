//===- ContainerWriterTest.cpp - tests of writing containers --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Container.h"

#include "TemporaryFolder.h"
#include "ZipBuilder.h"

#include "llvm/Support/Endian.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <csignal>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace commute::archive;
using testing::ElementsAre;
using testing::HasSubstr;

static std::unique_ptr<Container> open(const std::string &path) {
  auto container = Container::open(path);
  if (!container) {
    ADD_FAILURE() << llvm::toString(container.takeError());
    return nullptr;
  }
  return std::move(*container);
}
static std::unique_ptr<ContainerWriter> create(const std::string &path,
                                               llvm::StringRef root = "m") {
  auto writer = ContainerWriter::create(path, root);
  if (!writer) {
    ADD_FAILURE() << llvm::toString(writer.takeError());
    return nullptr;
  }
  return std::move(*writer);
}
static std::string messageOf(llvm::Error error) {
  return error ? llvm::toString(std::move(error)) : "";
}
static std::string read(const Container &container, llvm::StringRef name) {
  auto content = container.read(name, ~uint64_t(0));
  return content ? *content : "error: " + llvm::toString(content.takeError());
}

TEST(ContainerWriter, KeepsOrderAndContent) {
  TemporaryFolder folder;
  std::string file = folder.path("out.pt2");
  auto writer = create(file, "root");
  ASSERT_TRUE(writer);
  std::string big(1 << 20, 'b');
  EXPECT_EQ(messageOf(writer->add("z", "last name first")), "");
  EXPECT_EQ(messageOf(writer->add("data/weights/w", big)), "");
  EXPECT_EQ(messageOf(writer->add("empty", "")), "");
  EXPECT_EQ(messageOf(writer->add("\xC3\xA9", "e")), "");
  EXPECT_EQ(messageOf(writer->commit()), "");

  auto container = open(file);
  ASSERT_TRUE(container);
  EXPECT_EQ(container->root(), "root");
  std::vector<std::string> names;
  for (const Record &record : container->records()) {
    names.push_back(record.name);
    EXPECT_FALSE(record.isCompressed);
  }
  EXPECT_THAT(names, ElementsAre("z", "data/weights/w", "empty", "\xC3\xA9"));
  EXPECT_EQ(read(*container, "z"), "last name first");
  EXPECT_EQ(read(*container, "data/weights/w"), big);
  EXPECT_EQ(read(*container, "empty"), "");
  EXPECT_THAT(folder.list(), ElementsAre("out.pt2"));
}

TEST(ContainerWriter, AlignsPayloads) {
  TemporaryFolder folder;
  auto writer = create(folder.path("out.pt2"));
  ASSERT_TRUE(writer);
  // All lengths of names and contents modulo the alignment.
  constexpr size_t count = 130;
  for (size_t i = 0; i < count; ++i)
    EXPECT_EQ(messageOf(writer->add(std::string(i + 1, 'n'),
                                    std::string(i * 7, 'c'))),
              "");
  EXPECT_EQ(messageOf(writer->commit()), "");

  std::string bytes = folder.read("out.pt2");
  size_t offset = 0, seen = 0;
  auto field = [&](size_t at) {
    return llvm::support::endian::read16le(bytes.data() + offset + at);
  };
  while (bytes.compare(offset, 4, "PK\3\4") == 0) {
    size_t nameLength = field(26), extraLength = field(28);
    size_t extra = offset + 30 + nameLength;
    // 1980-01-01 00:00
    EXPECT_EQ(field(10), 0);
    EXPECT_EQ(field(12), 1 << 5 | 1);
    EXPECT_EQ(bytes.substr(extra, 2), "FB");
    EXPECT_EQ(field(30 + nameLength + 2), extraLength - 4);
    EXPECT_EQ(bytes.substr(extra + 4, extraLength - 4),
              std::string(extraLength - 4, 'Z'));
    size_t payload = extra + extraLength;
    EXPECT_EQ(payload % 64, 0u) << "record " << seen;
    size_t size = llvm::support::endian::read32le(bytes.data() + offset + 22);
    EXPECT_EQ(size, seen * 7);
    EXPECT_EQ(bytes.substr(payload, size), std::string(size, 'c'));
    offset = payload + size;
    ++seen;
  }
  EXPECT_EQ(seen, count);
}

TEST(ContainerWriter, CopiesRecordsAndIsDeterministic) {
  TemporaryFolder folder;
  ZipBuilder zip;
  zip.add("m/a", std::string(100000, 'a')).add("m/b", "b");
  auto source = open(folder.write("in.pt2", zip.build()));
  ASSERT_TRUE(source);
  for (const char *name : {"one.pt2", "two.pt2"}) {
    auto writer = create(folder.path(name));
    ASSERT_TRUE(writer);
    EXPECT_EQ(messageOf(writer->copy(*source, "b")), "");
    EXPECT_EQ(messageOf(writer->add("c", "c")), "");
    EXPECT_EQ(messageOf(writer->copy(*source, "a")), "");
    EXPECT_THAT(messageOf(writer->copy(*source, "d")),
                HasSubstr("record d: the archive has no such record"));
    EXPECT_EQ(messageOf(writer->commit()), "");
  }
  auto copy = open(folder.path("one.pt2"));
  ASSERT_TRUE(copy);
  EXPECT_EQ(read(*copy, "a"), std::string(100000, 'a'));
  EXPECT_EQ(read(*copy, "b"), "b");
  EXPECT_EQ(folder.read("one.pt2"), folder.read("two.pt2"));
}

TEST(ContainerWriter, OverwritesItsSource) {
  TemporaryFolder folder;
  std::string file = folder.write(
      "model.pt2", ZipBuilder().add("m/a", "old").add("m/b", "kept").build());
  {
    auto source = open(file);
    ASSERT_TRUE(source);
    auto writer = create(file);
    ASSERT_TRUE(writer);
    EXPECT_EQ(messageOf(writer->add("a", "new")), "");
    EXPECT_EQ(messageOf(writer->copy(*source, "b")), "");
    EXPECT_EQ(messageOf(writer->commit()), "");
    // What is open stays readable.
    EXPECT_EQ(read(*source, "a"), "old");
  }
  auto result = open(file);
  ASSERT_TRUE(result);
  EXPECT_EQ(read(*result, "a"), "new");
  EXPECT_EQ(read(*result, "b"), "kept");
  EXPECT_THAT(folder.list(), ElementsAre("model.pt2"));
}

TEST(ContainerWriter, WithoutCommitNothingIsLeft) {
  TemporaryFolder folder;
  std::string old = ZipBuilder().add("m/a", "old").build();
  std::string file = folder.write("model.pt2", old);
  {
    auto writer = create(file);
    ASSERT_TRUE(writer);
    EXPECT_EQ(messageOf(writer->add("a", "new")), "");
  }
  {
    auto writer = create(folder.path("fresh.pt2"));
    ASSERT_TRUE(writer);
    EXPECT_EQ(messageOf(writer->add("a", "new")), "");
  }
  EXPECT_EQ(folder.read("model.pt2"), old);
  EXPECT_THAT(folder.list(), ElementsAre("model.pt2"));
}

TEST(ContainerWriter, FailureLeavesEverythingAsItWas) {
  TemporaryFolder folder;
  ZipEntry wrongChecksum{"m/a", "12345"};
  wrongChecksum.checksum = 1;
  ZipEntry pastTheEnd{"m/b", "12345"};
  pastTheEnd.size = pastTheEnd.compressedSize = 1 << 20;
  auto source = open(folder.write("in.pt2", ZipBuilder()
                                                .add(wrongChecksum)
                                                .add("m/ok", "ok")
                                                .add(pastTheEnd)
                                                .build()));
  ASSERT_TRUE(source);
  std::string old = ZipBuilder().add("m/a", "old").build();
  std::string file = folder.write("out.pt2", old);
  for (const char *record : {"a", "b"}) {
    for (const char *name : {"out.pt2", "new.pt2"}) {
      auto writer = create(folder.path(name));
      ASSERT_TRUE(writer);
      EXPECT_EQ(messageOf(writer->copy(*source, "ok")), "");
      EXPECT_EQ(messageOf(writer->copy(*source, record)), "");
      EXPECT_THAT(messageOf(writer->commit()), HasSubstr(": cannot write: "))
          << record;
      // The failed writer holds nothing back.
      writer.reset();
      EXPECT_THAT(folder.list(), ElementsAre("in.pt2", "out.pt2"));
      EXPECT_EQ(folder.read("out.pt2"), old);
    }
  }
  auto writer = create(file);
  ASSERT_TRUE(writer);
  EXPECT_EQ(messageOf(writer->copy(*source, "ok")), "");
  EXPECT_EQ(messageOf(writer->commit()), "");
  EXPECT_EQ(read(*open(file), "ok"), "ok");
}

TEST(ContainerWriter, RefusesAnEmptyArchive) {
  TemporaryFolder folder;
  std::string file = folder.write("out.pt2", "something");
  auto writer = create(file);
  ASSERT_TRUE(writer);
  EXPECT_THAT(messageOf(writer->commit()), HasSubstr("at least one record"));
  EXPECT_EQ(folder.read("out.pt2"), "something");
}

TEST(ContainerWriter, RefusesPlacesThatCannotBeWritten) {
  TemporaryFolder folder;
  auto device = ContainerWriter::create("/dev/null", "m");
  ASSERT_FALSE(bool(device));
  EXPECT_EQ(llvm::toString(device.takeError()),
            "/dev/null: an archive can be written only to a regular file");
  auto itself = ContainerWriter::create(folder.path(""), "m");
  ASSERT_FALSE(bool(itself));
  llvm::consumeError(itself.takeError());

  std::string error;
  auto writer = ContainerWriter::create(folder.path("no/such/out.pt2"), "m");
  if (writer) {
    EXPECT_EQ(messageOf((*writer)->add("a", "a")), "");
    error = messageOf((*writer)->commit());
  } else {
    error = llvm::toString(writer.takeError());
  }
  EXPECT_THAT(error, HasSubstr("No such file or directory"));
}

TEST(ContainerWriter, FilePermissionsFollowTheUmask) {
  TemporaryFolder folder;
  mode_t mask = umask(0027);
  std::string file = folder.path("out.pt2");
  auto writer = create(file);
  ASSERT_TRUE(writer);
  EXPECT_EQ(messageOf(writer->add("a", "a")), "");
  std::string error = messageOf(writer->commit());
  umask(mask);
  EXPECT_EQ(error, "");
  struct stat status;
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(ContainerWriter, AFullDiskLeavesEverythingAsItWas) {
  TemporaryFolder folder;
  std::string old = ZipBuilder().add("m/a", "old").build();
  std::string file = folder.write("out.pt2", old);
  auto writer = create(file);
  ASSERT_TRUE(writer);
  EXPECT_EQ(messageOf(writer->add("a", std::string(1 << 20, 'a'))), "");

  // A limit on the size of files stands in for the disk.
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1 << 16;
  auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string error = messageOf(writer->commit());
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);

  EXPECT_THAT(error, HasSubstr(": cannot write: "));
  EXPECT_THAT(folder.list(), ElementsAre("out.pt2"));
  EXPECT_EQ(folder.read("out.pt2"), old);
}

TEST(ContainerWriter, WritesThroughSymbolicLinks) {
  TemporaryFolder folder;
  std::string file = folder.write("target.pt2", "old");
  ASSERT_FALSE(llvm::sys::fs::create_link(file, folder.path("link.pt2")));
  auto writer = create(folder.path("link.pt2"));
  ASSERT_TRUE(writer);
  EXPECT_EQ(messageOf(writer->add("a", "new")), "");
  EXPECT_EQ(messageOf(writer->commit()), "");
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(folder.path("link.pt2")));
  auto result = open(file);
  ASSERT_TRUE(result);
  EXPECT_EQ(read(*result, "a"), "new");
}
