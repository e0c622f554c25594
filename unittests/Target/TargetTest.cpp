//===- TargetTest.cpp - tests of targets and their files ------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/Target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"

#include "gtest/gtest.h"

using namespace commute;
using namespace commute::target;
namespace json = llvm::json;

/// The message for a built-in target's JSON after a change.
static std::string getMessage(llvm::function_ref<void(json::Object &)> change) {
  json::Value value = getBuiltinTargets()[0].toJson();
  change(*value.getAsObject());
  llvm::Expected<Target> target =
      parseTarget(llvm::formatv("{0}", value).str(), "f.json");
  return target ? "no error" : llvm::toString(target.takeError());
}

static json::Object &getMember(json::Object &object, llvm::StringRef key) {
  return *object.getObject(key);
}

TEST(TargetTest, BuiltinsAreInTheirOrder) {
  std::vector<std::string> names;
  for (const Target &target : getBuiltinTargets())
    names.push_back(target.name);
  EXPECT_EQ(names, (std::vector<std::string>{"h100x8", "h200x8", "b200x8",
                                             "mi300x8", "ascend-910b-x8"}));
}

TEST(TargetTest, WritingAndReadingIsTheIdentity) {
  for (const Target &target : getBuiltinTargets()) {
    std::string text = llvm::formatv("{0}", target.toJson());
    llvm::Expected<Target> reread = parseTarget(text, target.name);
    ASSERT_TRUE(bool(reread)) << llvm::toString(reread.takeError());
    EXPECT_EQ(llvm::formatv("{0}", reread->toJson()).str(), text);
  }
}

TEST(TargetTest, ErrorsNameTheField) {
  EXPECT_EQ(getMessage([](json::Object &) {}), "no error");
  EXPECT_EQ(getMessage([](json::Object &object) {
              object.erase("kernel_overhead_seconds");
            }),
            "f.json: kernel_overhead_seconds: is missing");
  EXPECT_EQ(getMessage([](json::Object &object) {
              getMember(object, "memory_efficiency")["value"] = 1.5;
            }),
            "f.json: memory_efficiency.value: expected a number from 1e-09 to "
            "1, not 1.5");
  EXPECT_EQ(getMessage([](json::Object &object) {
              getMember(object, "memory_bytes")["source"] = " ";
            }),
            "f.json: memory_bytes.source: is empty");
  EXPECT_EQ(getMessage([](json::Object &object) {
              getMember(object, "memory_bytes").erase("source");
            }),
            "f.json: memory_bytes.source: is missing");
  EXPECT_EQ(getMessage([](json::Object &object) { object["devices"] = 8; }),
            "f.json: devices: expected an object");
  EXPECT_EQ(getMessage([](json::Object &object) { object["version"] = 2; }),
            "f.json: version: expected an integer from 1 to 1, not 2");
  EXPECT_EQ(getMessage([](json::Object &object) {
              getMember(object, "devices")["value"] = 2.5;
            }),
            "f.json: devices.value: expected an integer from 1 to 1.04858e+06, "
            "not 2.5");
}

TEST(TargetTest, UnknownFieldsAreRefused) {
  EXPECT_TRUE(
      llvm::StringRef(getMessage([](json::Object &object) {
        object["memory_bandwidth"] = 1;
      }))
          .starts_with("f.json: the target: unknown field "
                       "'memory_bandwidth'; known fields are version, name, "));
  EXPECT_EQ(
      getMessage([](json::Object &object) {
        getMember(object, "matmul_flops_per_second")["fp32"] = 1;
      }),
      "f.json: matmul_flops_per_second: unknown field 'fp32'; known fields "
      "are f64, f32, f16, bf16, f8, i8");
}

TEST(TargetTest, CurvesMustRise) {
  auto setPoints = [](const json::Array &points) {
    return [points](json::Object &object) {
      getMember(object, "matmul_efficiency")["points"] = json::Array(points);
    };
  };
  EXPECT_EQ(getMessage(setPoints(
                json::Array{json::Array{1e-6, 0.1}, json::Array{2e-6, 0.2}})),
            "no error");
  EXPECT_EQ(getMessage(setPoints(
                json::Array{json::Array{1e-6, 0.1}, json::Array{2e-6, 0.3}})),
            "f.json: matmul_efficiency.points[1]: this larger product would "
            "take less time than the previous point");
  EXPECT_EQ(getMessage(setPoints(
                json::Array{json::Array{2e-6, 0.1}, json::Array{1e-6, 0.1}})),
            "f.json: matmul_efficiency.points[1][0]: points must be in "
            "ascending order");
  EXPECT_EQ(getMessage(setPoints(json::Array{})),
            "f.json: matmul_efficiency.points: needs at least one point");
  EXPECT_EQ(getMessage([](json::Object &object) {
              json::Object &line =
                  *(*getMember(object, "collectives").getArray("all_reduce"))[0]
                       .getAsObject();
              line["points"] =
                  json::Array{json::Array{1, 2}, json::Array{2, 1}};
            }),
            "f.json: collectives.all_reduce[0].points[1][1]: more bytes would "
            "take less time than at the previous point");
}

TEST(TargetTest, GroupSizesAreStatedOnce) {
  EXPECT_EQ(getMessage([](json::Object &object) {
              for (json::Value &line :
                   *getMember(object, "collectives").getArray("all_gather"))
                (*line.getAsObject())["group_size"] = 4;
            }),
            "f.json: collectives.all_gather[1].group_size: 4 occurs twice");
}

TEST(TargetTest, HostileTextIsRefused) {
  auto getError = [](const std::string &text) {
    llvm::Expected<Target> target = parseTarget(text, "f.json");
    return target ? "no error" : llvm::toString(target.takeError());
  };
  EXPECT_EQ(getError(std::string(1 << 20, '[')),
            "f.json: brackets nest deeper than 32 levels");
  // Brackets in a text are none.
  EXPECT_NE(getError('"' + std::string(1 << 10, '[') + '"'),
            "f.json: brackets nest deeper than 32 levels");
  EXPECT_EQ(getError("[]"), "f.json: the target: expected an object");
  EXPECT_NE(getError("{"), "no error");
  EXPECT_NE(getError(""), "no error");
  EXPECT_NE(getError(R"({"version": 1e999})"), "no error");
}

TEST(TargetTest, RatesFallBackToWiderTypes) {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  Target target;
  target.vectorFlopsPerSecond = {1, ""};
  EXPECT_EQ(target.getMatmulRate(builder.getBF16Type()), 1);
  target.matmulFlopsPerSecond["f32"] = {2, ""};
  EXPECT_EQ(target.getMatmulRate(builder.getBF16Type()), 2);
  EXPECT_EQ(target.getMatmulRate(builder.getF64Type()), 1);
  target.matmulFlopsPerSecond["bf16"] = {3, ""};
  EXPECT_EQ(target.getMatmulRate(builder.getBF16Type()), 3);
  mlir::Type f8 = mlir::Float8E4M3FNType::get(&context);
  EXPECT_EQ(target.getMatmulRate(f8), 3);
  EXPECT_EQ(target.getMatmulRate(builder.getI8Type()), 3);
  target.matmulFlopsPerSecond["f8"] = {4, ""};
  EXPECT_EQ(target.getMatmulRate(f8), 4);
}

TEST(TargetTest, MatmulSecondsRiseWithFlops) {
  mlir::MLIRContext context;
  mlir::Type bf16 = mlir::BFloat16Type::get(&context);
  for (const Target &target : getBuiltinTargets()) {
    double before = 0;
    for (double flops = 1; flops < 1e16; flops *= 1.7) {
      double seconds = target.getMatmulSeconds(flops, bf16);
      EXPECT_GE(seconds, before) << target.name << ' ' << flops;
      before = seconds;
    }
    EXPECT_EQ(target.getMatmulSeconds(0, bf16), 0);
  }
}

// Rates after cutting M into chunks, relative to the whole, as measured on
// H100 (docs/targets.md). Shapes of equal flops differ there by up to 12
// points.
TEST(TargetTest, ChunksOfAProductLoseWhatWasMeasuredOnH100) {
  mlir::MLIRContext context;
  mlir::Type bf16 = mlir::BFloat16Type::get(&context);
  const Target &target = getBuiltinTargets()[0];
  auto getRate = [&](double flops, double chunks) {
    return target.getMatmulSeconds(flops, bf16) /
           (chunks * target.getMatmulSeconds(flops / chunks, bf16));
  };
  double large = 2.0 * 4096 * 4096 * 4096;
  EXPECT_NEAR(getRate(large, 4), 0.96, 0.05);
  EXPECT_NEAR(getRate(large, 8), 0.85, 0.05);
  EXPECT_NEAR(getRate(large / 2, 4), 0.88, 0.05);
  EXPECT_NEAR(getRate(large / 2, 8), 0.56, 0.12);
  EXPECT_NEAR(getRate(large / 4, 8), 0.48, 0.1);
}

TEST(TargetTest, UnknownNamesListTheKnownOnes) {
  llvm::Expected<Target> target = loadTarget("h100");
  ASSERT_FALSE(bool(target));
  EXPECT_EQ(
      llvm::toString(target.takeError()),
      "unknown target 'h100'; known targets are h100x8, h200x8, b200x8, "
      "mi300x8, "
      "ascend-910b-x8, local (measured by 'commute calibrate'), and files "
      "by a path that ends with .json");
}
