//===- MpiModule.h - interface to the module that links MPI -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The only interface between the runtime and the module that links MPI. It is
// plain C, so that neither depends on the other's libraries.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_MPIMODULE_H
#define COMMUTE_LIB_RUNTIME_MPIMODULE_H

#include <cstddef>

namespace commute::runtime {

/// A transfer in progress.
struct MpiRequest;

/// Messages from one process to another arrive in the order in which they were
/// sent. No call blocks. Several threads may call, but not concurrently.
struct MpiModule {
  /// Returns false if MPI cannot be initialized.
  bool (*initialize)(int *position, int *numProcesses);
  /// Starts sending a message. If `isSynchronous`, the request is finished only
  /// when the receiver has matched it; otherwise possibly as soon as MPI has
  /// buffered it.
  MpiRequest *(*startSend)(int target, const void *data, size_t numBytes,
                           bool isSynchronous);
  /// Returns true and the length if a message from `source` has arrived.
  bool (*probe)(int source, size_t *numBytes);
  /// Starts receiving the message that `probe` found.
  MpiRequest *(*startReceiveFound)(void *data, size_t numBytes);
  /// Starts receiving the next message from `source`, whose length is known.
  MpiRequest *(*startReceive)(int source, void *data, size_t numBytes);
  /// Returns true if the transfer is finished, and then frees the request.
  bool (*finish)(MpiRequest *request);
  void (*finalize)();
  void (*abort)(int exitCode);
};

/// Name of the module's function that returns its MpiModule.
inline constexpr char mpiModuleFunction[] = "commuteGetMpiModule";

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_MPIMODULE_H
