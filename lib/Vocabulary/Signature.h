//===- Signature.h - how an exported program is called ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_SIGNATURE_H
#define COMMUTE_LIB_VOCABULARY_SIGNATURE_H

#include "commute/Archive/Program.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace commute::vocabulary {

/// The attribute `tp.signature`: what callers of a program see of it beside its
/// values, in the words of the export schema. Texts are only ever compared.
///
///   {call_inputs = "[1, {...}]", call_outputs = "[1, {...}]",
///    call_parameters = ["x"],
///    constant_inputs = ["input 1 is the constant 3"],
///    outputs = ["user_output", "buffer_mutation of 'running_mean'",
///               "user_output, the constant 3"]}
mlir::DictionaryAttr getSignature(const archive::Program &program,
                                  mlir::MLIRContext *context);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SIGNATURE_H
