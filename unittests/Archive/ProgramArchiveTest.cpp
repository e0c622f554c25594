//===- ProgramArchiveTest.cpp - tests of .pt2 archives --------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"

#include "ProgramText.h"
#include "TemporaryFolder.h"
#include "ZipBuilder.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute::archive;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
class ProgramArchiveTest : public testing::Test {
protected:
  /// Describes where the parameter of `programText` lies.
  static std::string weightsConfig() {
    return R"({"config": {"m.weight": {"path_name": "weight_0", )"
           R"("is_param": true, "use_pickle": true, "tensor_meta": null}}})";
  }
  /// The records that PyTorch writes, in its order.
  static ZipBuilder standardRecords() {
    ZipBuilder zip;
    zip.add("m/data/weights/weight_0", std::string(24, 'w'))
        .add("m/data/weights/model_weights_config.json", weightsConfig())
        .add("m/models/model.json", programText())
        .add("m/archive_format", "pt2")
        .add("m/archive_version", "0")
        .add("m/.data/version", "6\n")
        .add("m/byteorder", "little")
        .add("m/.data/serialization_id", std::string(40, '0'));
    return zip;
  }

  std::unique_ptr<ProgramArchive> read(llvm::StringRef name,
                                       llvm::StringRef model = {}) {
    auto archive = readProgramArchive(folder.path(name), model);
    if (!archive) {
      ADD_FAILURE() << llvm::toString(archive.takeError());
      return nullptr;
    }
    return std::move(*archive);
  }
  /// The error without the path in front.
  std::string errorOf(const ZipBuilder &zip, llvm::StringRef model = {}) {
    std::string path = folder.write("bad.pt2", zip.build());
    auto archive = readProgramArchive(path, model);
    if (archive)
      return "";
    std::string message = llvm::toString(archive.takeError());
    EXPECT_THAT(message, testing::StartsWith(path + ": "));
    return message.substr(path.size() + 2);
  }
  std::vector<std::string> recordNames(const Container &container) {
    std::vector<std::string> names;
    for (const Record &record : container.records())
      names.push_back(record.name);
    return names;
  }

  TemporaryFolder folder;
};
} // namespace

TEST_F(ProgramArchiveTest, Reads) {
  folder.write("a.pt2", standardRecords().build());
  auto archive = read("a.pt2");
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->modelRecord, "models/model.json");
  EXPECT_EQ(archive->program->graph.nodes.size(), 2u);
  EXPECT_EQ(archive->program->origin,
            folder.path("a.pt2") + ": record models/model.json");
  EXPECT_EQ(archive->sidecar, std::nullopt);
}

TEST_F(ProgramArchiveTest, ReadsPickledWeights) {
  EXPECT_EQ(errorOf(ZipBuilder()
                        .add("m/archive_format", "pt2\n")
                        .add("m/models/model.json", programText())
                        .add("m/data/weights/model.pt", "pickle")
                        .add("m/archive_version", " 0\n")),
            "");
}

TEST_F(ProgramArchiveTest, MissesWeights) {
  auto withWeights = [&](llvm::StringRef config, bool hasRecord) {
    ZipBuilder zip;
    zip.add("m/archive_format", "pt2")
        .add("m/archive_version", "0")
        .add("m/models/model.json", programText())
        .add("m/data/weights/model_weights_config.json", config.str());
    if (hasRecord)
      zip.add("m/data/weights/weight_0", "");
    return errorOf(zip);
  };
  EXPECT_EQ(withWeights(weightsConfig(), true), "");
  EXPECT_EQ(withWeights(weightsConfig(), false),
            "record data/weights/weight_0: missing, although 'm.weight' is "
            "listed as stored in it");
  EXPECT_THAT(withWeights(R"({"config": {}})", true),
              HasSubstr("the program needs parameter 'm.weight'"));
}

TEST_F(ProgramArchiveTest, ChecksFormatAndVersion) {
  EXPECT_EQ(errorOf(ZipBuilder()
                        .add("m/models/model.json", programText())
                        .add("m/archive_version", "0")),
            "record archive_format is missing, so this is not an archive of "
            "torch.export.save; it has 'models/model.json', 'archive_version'");
  EXPECT_THAT(errorOf(ZipBuilder()
                          .add("m/archive_format", "pt3")
                          .add("m/models/model.json", programText())
                          .add("m/archive_version", "0")),
              HasSubstr("record archive_format: expected 'pt2', found 'pt3'"));
  EXPECT_THAT(errorOf(ZipBuilder()
                          .add("m/archive_format", "pt2")
                          .add("m/models/model.json", programText())
                          .add("m/archive_version", "1")),
              HasSubstr("record archive_version: expected '0', found '1'"));
  EXPECT_THAT(errorOf(ZipBuilder()
                          .add("m/archive_format", "pt2")
                          .add("m/models/model.json", programText())
                          .add("m/archive_version", std::string(300, '0'))),
              HasSubstr("record archive_version: it has 300 bytes"));
}

TEST_F(ProgramArchiveTest, ListsFewOfManyRecords) {
  ZipBuilder zip;
  for (int i = 0; i < 20; ++i)
    zip.add("m/r" + std::to_string(i), "");
  EXPECT_THAT(errorOf(zip), HasSubstr("'r7', ... (20 in all)"));
}

TEST_F(ProgramArchiveTest, SaysWhatIsThereInsteadOfAProgram) {
  ZipBuilder zip;
  zip.add("m/archive_format", "pt2").add("m/archive_version", "0");
  EXPECT_EQ(errorOf(zip),
            "this archive contains no program (record models/NAME.json)");
  zip.add("m/data/aotinductor/model/x.so", "");
  EXPECT_THAT(errorOf(zip), HasSubstr("only code compiled by AOTInductor "
                                      "(data/aotinductor/) and no graph"));
  zip.add("m/models/model.json", programText())
      .add("m/data/weights/model.pt", "pickle");
  EXPECT_EQ(errorOf(zip), "");
}

TEST_F(ProgramArchiveTest, ChoosesAmongPrograms) {
  ZipBuilder zip;
  zip.add("m/archive_format", "pt2")
      .add("m/archive_version", "0")
      .add("m/models/first.json", programText())
      .add("m/data/weights/first.pt", "pickle");
  EXPECT_EQ(errorOf(zip), "");
  zip.add("m/models/second.json", programText())
      .add("m/data/weights/second.pt", "pickle");
  EXPECT_EQ(errorOf(zip),
            "this archive contains several programs; choose one of "
            "'first', 'second'");
  EXPECT_EQ(errorOf(zip, "second"), "");
  EXPECT_EQ(errorOf(zip, "third"), "this archive contains no program 'third'; "
                                   "it contains 'first', 'second'");
  zip.add("m/models/model.json", programText())
      .add("m/data/weights/model.pt", "pickle");
  folder.write("a.pt2", zip.build());
  auto archive = read("a.pt2");
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->modelRecord, "models/model.json");
  archive = read("a.pt2", "first");
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->modelRecord, "models/first.json");
}

TEST_F(ProgramArchiveTest, NamesTheRecordOfABrokenProgram) {
  ZipBuilder zip;
  zip.add("m/archive_format", "pt2")
      .add("m/archive_version", "0")
      .add("m/models/model.json", "{}");
  EXPECT_EQ(errorOf(zip), "record models/model.json: the required key "
                          "'schema_version' is missing");
}

TEST_F(ProgramArchiveTest, WritesEverythingElseByteForByte) {
  folder.write("in.pt2", standardRecords().build());
  auto archive = read("in.pt2");
  ASSERT_TRUE(archive);
  std::string json = replaced(programText(), "2.13.0+cpu", "other");
  llvm::Error error =
      writeProgramArchive(*archive, folder.path("out.pt2"), json);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));

  auto result = read("out.pt2");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->program->document->text(), json);
  EXPECT_EQ(result->container->root(), "m");
  EXPECT_EQ(recordNames(*result->container), recordNames(*archive->container));
  for (const Record &record : archive->container->records()) {
    if (record.name == "models/model.json")
      continue;
    auto before = archive->container->read(record.name, 1 << 20);
    auto after = result->container->read(record.name, 1 << 20);
    ASSERT_TRUE(before && after);
    EXPECT_EQ(*before, *after);
  }
  EXPECT_THAT(folder.list(), ElementsAre("in.pt2", "out.pt2"));
}

TEST_F(ProgramArchiveTest, AddsReplacesAndKeepsTheSidecar) {
  std::string path = folder.write("a.pt2", standardRecords().build());
  auto write = [&](const std::optional<std::string> &sidecar) {
    auto archive = read("a.pt2");
    ASSERT_TRUE(archive);
    llvm::Error error =
        writeProgramArchive(*archive, path, programText(), sidecar);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  };
  auto expectSidecar = [&](const std::optional<std::string> &sidecar) {
    auto archive = read("a.pt2");
    ASSERT_TRUE(archive);
    EXPECT_EQ(archive->sidecar, sidecar);
    if (sidecar) {
      EXPECT_THAT(recordNames(*archive->container),
                  ElementsAre("data/weights/weight_0",
                              "data/weights/model_weights_config.json",
                              "models/model.json", "archive_format",
                              "archive_version", "extra/commute.json",
                              ".data/version", "byteorder",
                              ".data/serialization_id"));
    }
  };
  write(std::nullopt);
  expectSidecar(std::nullopt);
  write("{}");
  expectSidecar("{}");
  write(std::nullopt);
  expectSidecar("{}");
  write("{\"group\": 1}");
  expectSidecar("{\"group\": 1}");
  EXPECT_THAT(folder.list(), ElementsAre("a.pt2"));
}

TEST_F(ProgramArchiveTest, AddsTheSidecarWithoutATail) {
  ZipBuilder zip;
  zip.add("m/archive_format", "pt2")
      .add("m/archive_version", "0")
      .add("m/data/weights/model.pt", "pickle")
      .add("m/models/model.json", programText());
  std::string path = folder.write("a.pt2", zip.build());
  auto archive = read("a.pt2");
  ASSERT_TRUE(archive);
  llvm::Error error = writeProgramArchive(*archive, path, programText(), "{}");
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  archive = read("a.pt2");
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->sidecar, "{}");
}

TEST_F(ProgramArchiveTest, LimitsTheSidecar) {
  constexpr size_t limit = 16 << 20;
  EXPECT_EQ(errorOf(standardRecords().add("m/extra/commute.json",
                                          std::string(limit, ' '))),
            "");
  EXPECT_THAT(errorOf(standardRecords().add("m/extra/commute.json",
                                            std::string(limit + 1, ' '))),
              HasSubstr("record extra/commute.json: it has 16777217 bytes, "
                        "more than the limit of 16777216"));
}

TEST_F(ProgramArchiveTest, ADamagedWeightLeavesTheTargetAlone) {
  ZipEntry weight{"m/data/weights/weight_0", "12345678"};
  weight.checksum = 7;
  folder.write("in.pt2", standardRecords().build());
  std::string old = standardRecords().add("m/extra/old", "").build();
  folder.write("out.pt2", old);
  folder.write("in.pt2", ZipBuilder()
                             .add("m/archive_format", "pt2")
                             .add("m/archive_version", "0")
                             .add(weight)
                             .add("m/data/weights/model_weights_config.json",
                                  weightsConfig())
                             .add("m/models/model.json", programText())
                             .build());
  // The weights are not read, so that reading succeeds.
  auto archive = read("in.pt2");
  ASSERT_TRUE(archive);
  llvm::Error error =
      writeProgramArchive(*archive, folder.path("out.pt2"), programText());
  ASSERT_TRUE(bool(error));
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr("CRC"));
  EXPECT_EQ(folder.read("out.pt2"), old);
  EXPECT_THAT(folder.list(), ElementsAre("in.pt2", "out.pt2"));
}
