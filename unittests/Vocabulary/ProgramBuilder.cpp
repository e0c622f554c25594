//===- ProgramBuilder.cpp - small exported programs for tests -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "Respelling.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using llvm::StringRef;
using llvm::Twine;

static std::string quote(StringRef text) { return quoteJson(text); }

std::string Size::toJson() const {
  if (!hint)
    return "{\"as_int\": " + text + "}";
  return "{\"as_expr\": {\"expr_str\": " + quote(text) +
         ", \"hint\": {\"as_int\": " + std::to_string(*hint) + "}}}";
}

static std::string join(const std::vector<std::string> &items) {
  return llvm::join(items, ", ");
}

static std::string listSizes(const std::vector<Size> &sizes) {
  std::vector<std::string> items;
  for (const Size &size : sizes)
    items.push_back(size.toJson());
  return "[" + join(items) + "]";
}

static std::string getMeta(const Tensor &tensor) {
  std::vector<Size> strides = tensor.strides;
  if (strides.empty()) {
    int64_t stride = 1;
    for (const Size &size : llvm::reverse(tensor.sizes)) {
      strides.insert(strides.begin(), Size(stride));
      stride *= std::stoll(size.text);
    }
  }
  return "{\"dtype\": " + std::to_string(tensor.dtype) +
         ", \"sizes\": " + listSizes(tensor.sizes) +
         ", \"requires_grad\": false, \"device\": {\"type\": \"cpu\", "
         "\"index\": null}, \"strides\": " +
         listSizes(strides) +
         ", \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}";
}

static std::string getName(StringRef name) {
  return "{\"name\": " + quote(name) + "}";
}

static std::string getTensor(StringRef name) {
  return "{\"as_tensor\": " + getName(name) + "}";
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

std::string test::argument(StringRef name, StringRef json) {
  return ("{\"name\": \"" + name + "\", \"arg\": " + json + ", \"kind\": 1}")
      .str();
}
std::string test::tensor(StringRef name, StringRef value) {
  return argument(name, getTensor(value));
}
std::string test::tensors(StringRef name,
                          const std::vector<std::string> &values) {
  std::vector<std::string> items;
  for (const std::string &value : values)
    items.push_back(getName(value));
  return argument(name, "{\"as_tensors\": [" + join(items) + "]}");
}
std::string test::integer(StringRef name, int64_t value) {
  return argument(name, "{\"as_int\": " + std::to_string(value) + "}");
}
std::string test::integers(StringRef name, const std::vector<int64_t> &values) {
  std::vector<std::string> items;
  for (int64_t value : values)
    items.push_back(std::to_string(value));
  return argument(name, "{\"as_ints\": [" + join(items) + "]}");
}
std::string test::number(StringRef name, StringRef value) {
  return argument(name, ("{\"as_float\": " + value + "}").str());
}
std::string test::truth(StringRef name, bool value) {
  return argument(name, value ? "{\"as_bool\": true}" : "{\"as_bool\": false}");
}
std::string test::text(StringRef name, StringRef value) {
  return argument(name, "{\"as_string\": " + quote(value) + "}");
}
std::string test::none(StringRef name) {
  return argument(name, "{\"as_none\": true}");
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ProgramBuilder &ProgramBuilder::value(const Tensor &tensor) {
  values.push_back(quote(tensor.name) + ": " + getMeta(tensor));
  return *this;
}

ProgramBuilder &ProgramBuilder::input(const Tensor &tensor) {
  inputs.push_back(getTensor(tensor.name));
  inputSpecs.push_back("{\"user_input\": {\"arg\": " + getTensor(tensor.name) +
                       "}}");
  return value(tensor);
}

ProgramBuilder &ProgramBuilder::parameter(const Tensor &tensor,
                                          StringRef target) {
  inputs.push_back(getTensor(tensor.name));
  inputSpecs.push_back("{\"parameter\": {\"arg\": " + getName(tensor.name) +
                       ", \"parameter_name\": " + quote(target) + "}}");
  return value(tensor);
}

ProgramBuilder &ProgramBuilder::customObject(StringRef name) {
  std::string object =
      "{\"name\": " + quote(name) + ", \"class_fqn\": \"__torch__.Thing\"}";
  inputs.push_back("{\"as_custom_obj\": " + object + "}");
  inputSpecs.push_back("{\"custom_obj\": {\"arg\": " + object +
                       ", \"custom_obj_name\": \"thing\"}}");
  return *this;
}

ProgramBuilder &
ProgramBuilder::addNode(StringRef target, StringRef name,
                        const std::vector<std::string> &arguments,
                        StringRef outputs, bool isFunctional) {
  nodes.push_back(
      "{\"target\": " + quote(target) + ", \"inputs\": [" + join(arguments) +
      "], \"outputs\": [" + outputs.str() + "], \"metadata\": {" +
      (isFunctional ? "\"effects\": \"none\", " : "") + "\"stack_trace\": " +
      quote(("File \"model.py\", line " + Twine(nodes.size() + 1) +
             ", in forward\n    " + name)
                .str()) +
      "}, \"is_hop_single_tensor_return\": null, \"name\": " + quote(name) +
      "}");
  return *this;
}

ProgramBuilder &
ProgramBuilder::rawNode(StringRef target, StringRef name,
                        const std::vector<std::string> &arguments,
                        StringRef outputs) {
  return addNode(("torch.ops." + target).str(), name, arguments, outputs,
                 /*isFunctional=*/false);
}

std::string ProgramBuilder::addResults(const std::vector<Tensor> &results) {
  std::vector<std::string> items;
  for (const Tensor &result : results) {
    value(result);
    items.push_back(getTensor(result.name));
  }
  return join(items);
}

ProgramBuilder &ProgramBuilder::node(StringRef target,
                                     const std::vector<std::string> &arguments,
                                     const std::vector<Tensor> &results) {
  std::string name = results.size() == 1
                         ? results.front().name
                         : "node" + std::to_string(nodes.size());
  return rawNode(target, name, arguments, addResults(results));
}

ProgramBuilder &ProgramBuilder::functionNode(
    StringRef target, const std::vector<std::string> &arguments,
    const std::vector<Tensor> &results, bool isFunctional) {
  holdsFunctions = true;
  std::string name = results.size() == 1
                         ? results.front().name
                         : "node" + std::to_string(nodes.size());
  return addNode(target, name, arguments, addResults(results), isFunctional);
}

ProgramBuilder &
ProgramBuilder::listNode(StringRef target,
                         const std::vector<std::string> &arguments,
                         const std::vector<Tensor> &results) {
  std::vector<std::string> items;
  for (const Tensor &result : results) {
    value(result);
    items.push_back(getName(result.name));
  }
  return rawNode(target, "node" + std::to_string(nodes.size()), arguments,
                 "{\"as_tensors\": [" + join(items) + "]}");
}

ProgramBuilder &ProgramBuilder::output(StringRef name) {
  outputs.push_back(getTensor(name));
  outputSpecs.push_back("{\"user_output\": {\"arg\": " + getTensor(name) +
                        "}}");
  return *this;
}

std::string ProgramBuilder::text() const {
  return "{\"graph_module\": {\"graph\": {\"inputs\": [" + join(inputs) +
         "], \"outputs\": [" + join(outputs) + "], \"nodes\": [" + join(nodes) +
         "], \"tensor_values\": {" + join(values) +
         "}, \"sym_int_values\": {}, \"sym_bool_values\": {}, "
         "\"is_single_tensor_return\": false, \"custom_obj_values\": {}, "
         "\"sym_float_values\": {}}, \"signature\": {\"input_specs\": [" +
         join(inputSpecs) + "], \"output_specs\": [" + join(outputSpecs) +
         "]}, \"module_call_graph\": [{\"fqn\": \"\", \"signature\": "
         "{\"inputs\": [], \"outputs\": [" +
         join(outputs) +
         "], \"in_spec\": \"\", \"out_spec\": \"\", \"forward_arg_names\": "
         "null}}], \"metadata\": {}, \"treespec_namedtuple_fields\": {}}, "
         "\"opset_version\": {\"aten\": 10}, \"range_constraints\": {}, "
         "\"schema_version\": {\"major\": 8, \"minor\": 20}, \"verifiers\": "
         "[\"" +
         std::string(holdsFunctions ? "PYTHON" : "TRAINING") +
         "\"], \"torch_version\": \"2.13.0+cpu\", "
         "\"guards_code\": []}";
}

//===----------------------------------------------------------------------===//
// Translation
//===----------------------------------------------------------------------===//

mlir::Block &Imported::getBody() const {
  return getModule().lookupSymbol<mlir::func::FuncOp>("main").front();
}

mlir::Operation *Imported::getOp(StringRef name) const {
  for (mlir::Operation &op : getBody())
    for (mlir::Value result : op.getResults())
      if (vocabulary::getGraphName(result) == name)
        return &op;
  ADD_FAILURE() << "no op gives " << name.str();
  return nullptr;
}

std::string Imported::print() const { return printWithoutNames(getModule()); }

Translator::Translator() {
  distributed.groups["0"] = {{0, 1}};
  distributed.rank = 0;
  if (failed(remarks.attach(context)))
    ADD_FAILURE() << "remarks cannot be collected";
}

llvm::Expected<Imported> Translator::tryImport(std::string text) {
  Imported result;
  auto program = archive::parseProgram(std::move(text), "m.pt2");
  if (!program)
    return program.takeError();
  result.program = std::move(*program);
  auto imported = vocabulary::importProgram(*result.program, vocabulary,
                                            distributed, &context);
  if (!imported)
    return imported.takeError();
  result.imported = std::move(*imported);
  return result;
}

Imported Translator::import(std::string text) {
  llvm::Expected<Imported> result = tryImport(std::move(text));
  if (!result) {
    // Nothing can follow: the caller would use a module that is not there.
    ADD_FAILURE() << llvm::toString(result.takeError());
    llvm::report_fatal_error("cannot import a test's program");
  }
  EXPECT_TRUE(succeeded(mlir::verify(result->getModule())));
  return std::move(*result);
}

std::string Translator::getImportError(const ProgramBuilder &builder) {
  llvm::Expected<Imported> result = tryImport(builder.text());
  return result ? "" : llvm::toString(result.takeError());
}

std::string Translator::getImportRemarks(const ProgramBuilder &builder) {
  size_t numBefore = remarks.getEntries().size();
  import(builder);
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const report::RemarkEntry &entry :
       remarks.getEntries().drop_front(numBefore))
    os << entry.pass << ": " << entry.node << ": " << entry.message << '\n';
  return text;
}

llvm::Expected<archive::ProgramEdits>
Translator::exportEdits(Imported &imported) const {
  return vocabulary::exportProgram(imported.getModule(), imported.imported,
                                   *imported.program, vocabulary);
}

std::string Translator::exportText(Imported &imported) const {
  auto edits = exportEdits(imported);
  if (!edits) {
    ADD_FAILURE() << llvm::toString(edits.takeError());
    return "";
  }
  return edits->apply(*imported.program);
}
