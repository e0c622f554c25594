//===- WeightsTest.cpp - tests of stored tensors ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Weights.h"

#include "ProgramText.h"
#include "TemporaryFolder.h"
#include "ZipBuilder.h"

#include <gmock/gmock.h>

using namespace commute::archive;
using testing::HasSubstr;

namespace {
class WeightsTest : public testing::Test {
protected:
  static std::string describe(llvm::StringRef sizes, llvm::StringRef strides,
                              llvm::StringRef path = "weight_0") {
    return (R"({"config": {"m.weight": {"path_name": ")" + path +
            R"(", "is_param": true, "use_pickle": false, "tensor_meta": )" +
            R"({"dtype": 7, "sizes": )" + sizes + R"(, "strides": )" + strides +
            R"(, "storage_offset": {"as_int": 1}, "requires_grad": true, )" +
            R"("device": {"type": "cpu", "index": null}, "layout": 7}}}})")
        .str();
  }
  /// An archive with this description of its weights.
  llvm::Expected<std::unique_ptr<ProgramArchive>>
  readArchiveWith(std::string config) {
    ZipBuilder zip;
    zip.add("m/data/weights/weight_0", content)
        .add("m/data/weights/model_weights_config.json", std::move(config))
        .add("m/models/model.json", programText())
        .add("m/archive_format", "pt2")
        .add("m/archive_version", "0");
    return readProgramArchive(folder.write("a.pt2", zip.build()));
  }
  std::unique_ptr<ProgramArchive> archiveWith(std::string config) {
    auto archive = readArchiveWith(std::move(config));
    if (archive)
      return std::move(*archive);
    ADD_FAILURE() << llvm::toString(archive.takeError());
    return nullptr;
  }
  std::string errorOf(std::string config) {
    auto archive = readArchiveWith(std::move(config));
    return archive ? "" : llvm::toString(archive.takeError());
  }

  TemporaryFolder folder;
  std::string content = "abcdefghijklmnopqrstuvwx";
  std::string good = describe(R"([{"as_int": 5}])", R"([{"as_int": 1}])");
};
} // namespace

TEST_F(WeightsTest, TensorsAreFoundAndLoaded) {
  std::unique_ptr<ProgramArchive> archive = archiveWith(good);
  llvm::Expected<Weights> weights = Weights::open(*archive);
  ASSERT_TRUE(bool(weights)) << llvm::toString(weights.takeError());
  EXPECT_EQ(weights->find("v"), nullptr);
  const StoredTensor *tensor = weights->find("m.weight");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->record, "data/weights/weight_0");
  EXPECT_TRUE(tensor->isRaw);
  EXPECT_EQ(tensor->dtype, ScalarType::Float);
  EXPECT_EQ(tensor->sizes, std::vector<int64_t>{5});
  EXPECT_EQ(tensor->strides, std::vector<int64_t>{1});
  EXPECT_EQ(tensor->storageOffset, 1);
  EXPECT_TRUE(weights->hasBytes(*tensor));
  llvm::Expected<Weights::Bytes> bytes = weights->load(*tensor);
  ASSERT_TRUE(bool(bytes)) << llvm::toString(bytes.takeError());
  EXPECT_EQ(llvm::StringRef(reinterpret_cast<const char *>(bytes->data.get()),
                            bytes->size),
            content);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes->data.get()) % 8, 0u);
}

TEST_F(WeightsTest, BytesOutliveTheArchive) {
  Weights::Bytes bytes;
  {
    std::unique_ptr<ProgramArchive> archive = archiveWith(good);
    llvm::Expected<Weights> weights = Weights::open(*archive);
    ASSERT_TRUE(bool(weights)) << llvm::toString(weights.takeError());
    llvm::Expected<Weights::Bytes> loaded =
        weights->load(*weights->find("m.weight"));
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    bytes = std::move(*loaded);
  }
  EXPECT_EQ(*reinterpret_cast<const char *>(bytes.data.get()), 'a');
}

TEST_F(WeightsTest, PickledTensorsAreNotDescribed) {
  ZipBuilder zip;
  zip.add("m/models/model.json", programText())
      .add("m/data/weights/model.pt", "pickle")
      .add("m/archive_format", "pt2")
      .add("m/archive_version", "0");
  auto archive = readProgramArchive(folder.write("a.pt2", zip.build()));
  ASSERT_TRUE(bool(archive)) << llvm::toString(archive.takeError());
  llvm::Expected<Weights> weights = Weights::open(**archive);
  ASSERT_TRUE(bool(weights)) << llvm::toString(weights.takeError());
  EXPECT_EQ(weights->find("m.weight"), nullptr);
}

TEST_F(WeightsTest, BadDescriptionsAreRefused) {
  std::string one = R"([{"as_int": 1}])";
  EXPECT_EQ(errorOf(good), "");
  EXPECT_THAT(errorOf("["),
              HasSubstr("a.pt2: record "
                        "data/weights/model_weights_config.json"));
  EXPECT_THAT(errorOf("{}"), HasSubstr("config"));
  EXPECT_THAT(errorOf(describe(R"([{"as_int": -1}])", one)),
              HasSubstr("must not be negative"));
  EXPECT_THAT(errorOf(describe(R"([{"as_expr": {"expr_str": "s0"}}])", one)),
              HasSubstr("cannot have symbolic sizes"));
  EXPECT_THAT(errorOf(describe("[]", one)),
              HasSubstr("there are 0 sizes, but 1 strides"));
  EXPECT_THAT(errorOf(replaced(good, R"("dtype": 7)", R"("dtype": 77)")),
              HasSubstr("unknown dtype 77"));
}

TEST_F(WeightsTest, RecordThatIsMissingIsNamed) {
  EXPECT_THAT(
      errorOf(describe(R"([{"as_int": 5}])", R"([{"as_int": 1}])", "weight_9")),
      HasSubstr("record data/weights/weight_9: missing"));
}
