//===- Signature.h - calling convention of a program ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_SIGNATURE_H
#define COMMUTE_LIB_VOCABULARY_SIGNATURE_H

#include "commute/Archive/Program.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace commute::vocabulary {

/// Returns the attribute `tp.signature`: everything that callers of a program
/// can observe apart from its values, in the terms of the export schema. Its
/// strings are only compared, never parsed.
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
