//===- Signature.cpp - calling convention of a program ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Signature.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;

/// Returns "3" for {"as_int": 3}, with the digits of the file.
static std::string getConstant(const archive::Program &program,
                               const Argument &argument) {
  if (argument.tag == ArgumentTag::None)
    return "None";
  std::string text = program.getText(argument);
  return StringRef(text).trim("{} \t\r\n").split(':').second.trim().str();
}

static std::string describeOutput(const archive::Program &program,
                                  const archive::OutputSpec &spec,
                                  const Argument &output) {
  std::string text = archive::outputKindName(spec.kind).str();
  if (!spec.target.empty())
    text += " of '" + spec.target.str() + "'";
  if (output.namesValue())
    return text;
  size_t numValues = 0;
  output.forEachValue([&](const Argument &) { ++numValues; });
  if (numValues > 0)
    return text + ", " + archive::argumentTagName(output.tag).str() + " of " +
           std::to_string(numValues) + " values";
  return text + ", the constant " + getConstant(program, output);
}

DictionaryAttr vocabulary::getSignature(const archive::Program &program,
                                        MLIRContext *context) {
  Builder builder(context);
  NamedAttrList attributes;
  if (program.call) {
    auto set = [&](StringRef key, StringRef text) {
      if (!text.empty())
        attributes.set(key, builder.getStringAttr(text));
    };
    set("call_inputs", program.call->inputs);
    set("call_outputs", program.call->outputs);
    if (!program.call->parameters.empty())
      attributes.set("call_parameters",
                     builder.getStrArrayAttr(program.call->parameters));
  }
  SmallVector<Attribute> inputs, outputs;
  for (auto [index, input] : llvm::enumerate(program.graph.inputs))
    if (!input.namesValue())
      inputs.push_back(builder.getStringAttr("input " + Twine(index) +
                                             " is the constant " +
                                             getConstant(program, input)));
  for (auto [spec, output] :
       llvm::zip_equal(program.outputSpecs, program.graph.outputs))
    outputs.push_back(
        builder.getStringAttr(describeOutput(program, spec, output)));
  attributes.set("constant_inputs", builder.getArrayAttr(inputs));
  attributes.set("outputs", builder.getArrayAttr(outputs));
  return attributes.getDictionary(context);
}
