//===- MpiModule.h - what the runtime asks of MPI ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The only interface between the runtime and the module that links MPI: plain
// C, so that neither has anything of the other.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_MPIMODULE_H
#define COMMUTE_LIB_RUNTIME_MPIMODULE_H

#include <cstddef>

namespace commute::runtime {

/// A transfer under way.
struct MpiRequest;

/// Messages from one process to another arrive in the order they were sent in.
/// No call waits for another process. Several threads may call, one at a time.
struct MpiModule {
  /// False when MPI cannot be initialized.
  bool (*initialize)(int *position, int *numProcesses);
  /// With `isSynchronous` it is done only once the receiver takes it, else
  /// maybe as soon as MPI has a copy.
  MpiRequest *(*startSend)(int target, const void *data, size_t numBytes,
                           bool isSynchronous);
  /// Whether a message from `source` is there, and how long it is.
  bool (*probe)(int source, size_t *numBytes);
  /// Takes the message that `probe` has shown.
  MpiRequest *(*startReceiveFound)(void *data, size_t numBytes);
  /// Takes the next message from `source`, of which the length is known.
  MpiRequest *(*startReceive)(int source, void *data, size_t numBytes);
  /// Whether the transfer is done; the request is gone then.
  bool (*finish)(MpiRequest *request);
  void (*finalize)();
  void (*abort)(int exitCode);
};

/// Name of the function in the module that gives its MpiModule.
inline constexpr char mpiModuleFunction[] = "commuteGetMpiModule";

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_MPIMODULE_H
