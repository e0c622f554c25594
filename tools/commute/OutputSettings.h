//===- OutputSettings.h - how much is printed -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_OUTPUTSETTINGS_H
#define COMMUTE_TOOLS_COMMUTE_OUTPUTSETTINGS_H

namespace commute::tool {

/// Declares -v and --quiet for all commands, and applies NO_COLOR.
void declareOutputOptions();

/// True if only errors are printed, and the data that a command is run for: a
/// module on standard output, or JSON.
bool isQuiet();
/// True if the time of each stage is printed.
bool isVerbose();

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_OUTPUTSETTINGS_H
