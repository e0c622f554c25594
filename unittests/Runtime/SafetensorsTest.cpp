//===- SafetensorsTest.cpp - tests of .safetensors files --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Safetensors.h"

#include "../Archive/TemporaryFolder.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Endian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace commute::runtime;
using testing::HasSubstr;

static std::string makeFile(llvm::StringRef header, llvm::StringRef data) {
  std::string text(8, '\0');
  llvm::support::endian::write64le(text.data(), header.size());
  return text + header.str() + data.str();
}

/// The message that a file of these bytes is refused with, or "".
static std::string refuse(const std::string &bytes) {
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(bytes), "F.safetensors");
  return file ? "" : llvm::toString(file.takeError());
}

TEST(SafetensorsTest, HostileHeadersAreRefused) {
  auto refuseEntry = [](const std::string &entry) {
    return refuse(makeFile("{\"x\":" + entry + "}", "12345678"));
  };
  EXPECT_EQ(refuseEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"),
            "");
  EXPECT_THAT(refuse("1234567"), HasSubstr("it has only 7 bytes"));
  EXPECT_THAT(refuse(std::string(8, '\xff')), HasSubstr("it states a header"));
  EXPECT_THAT(refuse(makeFile("{", "")), HasSubstr("header: "));
  EXPECT_THAT(refuse(makeFile("[]", "")), HasSubstr("expected an object"));
  EXPECT_THAT(refuseEntry("7"), HasSubstr("tensor 'x': expected an object"));
  EXPECT_THAT(refuseEntry(R"({"shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("dtype is missing"));
  EXPECT_THAT(
      refuseEntry(R"({"dtype":"F31","shape":[2],"data_offsets":[0,8]})"),
      HasSubstr("unknown dtype F31"));
  EXPECT_THAT(
      refuseEntry(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"),
      HasSubstr("not a size"));
  EXPECT_THAT(
      refuseEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,16]})"),
      HasSubstr("are not within the 8 bytes"));
  EXPECT_THAT(
      refuseEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
      HasSubstr("are not within"));
  EXPECT_THAT(refuseEntry(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"),
              HasSubstr("not a pair"));
  EXPECT_THAT(
      refuseEntry(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
      HasSubstr("the shape does not fit"));
  // The product of the sizes is 8 modulo 2^64.
  EXPECT_THAT(refuseEntry(R"({"dtype":"U8","shape":[4611686018427387904,4,8],)"
                          R"("data_offsets":[0,0]})"),
              HasSubstr("the shape does not fit"));
}

TEST(SafetensorsTest, WhatIsWrittenIsRead) {
  MLIRContext context;
  TemporaryFolder folder;
  std::string path = folder.path("F.safetensors");
  std::vector<NamedTensor> tensors;
  std::vector<std::pair<Type, std::vector<int64_t>>> kinds = {
      {Float32Type::get(&context), {2, 3}},
      {IntegerType::get(&context, 1), {3}},
      {BFloat16Type::get(&context), {}},
      {Float64Type::get(&context), {0, 4}},
      {IntegerType::get(&context, 64), {5}}};
  for (auto &[type, sizes] : kinds) {
    std::shared_ptr<Tensor> tensor = Tensor::allocate(sizes, type);
    for (size_t index = 0; index < tensor->getNumBytes(); ++index)
      tensor->getMutableData()[index] = std::byte(index & 1);
    tensors.push_back({"a \"name\" " + std::to_string(tensors.size()), tensor});
  }
  ASSERT_EQ(llvm::toString(writeSafetensors(path, tensors)), "");
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->getEntries().size(), tensors.size());
  for (const auto &[name, tensor] : tensors) {
    const SafetensorsFile::Entry *entry = file->find(name);
    ASSERT_TRUE(entry) << name;
    EXPECT_EQ(entry->kind, tensor->getKind());
    EXPECT_EQ(ArrayRef<int64_t>(entry->sizes), tensor->getSizes());
    EXPECT_EQ(std::memcmp(entry->data.get(), tensor->getData(),
                          tensor->getNumBytes()),
              0);
  }
  EXPECT_EQ(file->find("no name"), nullptr);
}
