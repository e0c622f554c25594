//===- MpiModule.cpp - the module that links MPI ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "MpiModule.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>

using namespace commute::runtime;

// MPI counts are of type int, so messages above 1 GiB are counted in blocks.
static constexpr size_t blockBytes = size_t(1) << 20;
static constexpr size_t longestInBytes = size_t(1) << 30;
static constexpr int tag = 0;

struct commute::runtime::MpiRequest {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype type = MPI_BYTE;
};

/// The message that the last successful probe found.
static MPI_Message foundMessage = MPI_MESSAGE_NULL;

/// Returns a datatype for `numBytes` bytes whose count fits MPI's int.
static int describeBytes(size_t numBytes, MpiRequest &request) {
  if (numBytes <= longestInBytes)
    return static_cast<int>(numBytes);
  MPI_Datatype block, blocks;
  MPI_Type_contiguous(blockBytes, MPI_BYTE, &block);
  MPI_Type_contiguous(static_cast<int>(numBytes / blockBytes), block, &blocks);
  int lengths[] = {1, static_cast<int>(numBytes % blockBytes)};
  MPI_Aint offsets[] = {
      0, static_cast<MPI_Aint>(numBytes / blockBytes * blockBytes)};
  MPI_Datatype types[] = {blocks, MPI_BYTE};
  MPI_Type_create_struct(2, lengths, offsets, types, &request.type);
  MPI_Type_commit(&request.type);
  MPI_Type_free(&block);
  MPI_Type_free(&blocks);
  return 1;
}

static bool initialize(int *position, int *numProcesses) {
  int provided = 0;
  return MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) ==
             MPI_SUCCESS &&
         provided >= MPI_THREAD_SERIALIZED &&
         MPI_Comm_rank(MPI_COMM_WORLD, position) == MPI_SUCCESS &&
         MPI_Comm_size(MPI_COMM_WORLD, numProcesses) == MPI_SUCCESS;
}

static MpiRequest *startSend(int target, const void *data, size_t numBytes,
                             bool isSynchronous) {
  auto *result = new MpiRequest;
  int count = describeBytes(numBytes, *result);
  (isSynchronous ? MPI_Issend : MPI_Isend)(
      data, count, result->type, target, tag, MPI_COMM_WORLD, &result->request);
  return result;
}

static bool probe(int source, size_t *numBytes) {
  int isThere = 0;
  MPI_Status status;
  MPI_Improbe(source, tag, MPI_COMM_WORLD, &isThere, &foundMessage, &status);
  if (!isThere)
    return false;
  MPI_Count count = 0;
  MPI_Get_elements_x(&status, MPI_BYTE, &count);
  *numBytes = static_cast<size_t>(count);
  return true;
}

static MpiRequest *startReceiveFound(void *data, size_t numBytes) {
  auto *result = new MpiRequest;
  int count = describeBytes(numBytes, *result);
  MPI_Imrecv(data, count, result->type, &foundMessage, &result->request);
  return result;
}

static MpiRequest *startReceive(int source, void *data, size_t numBytes) {
  auto *result = new MpiRequest;
  int count = describeBytes(numBytes, *result);
  MPI_Irecv(data, count, result->type, source, tag, MPI_COMM_WORLD,
            &result->request);
  return result;
}

static bool finish(MpiRequest *request) {
  int isDone = 0;
  MPI_Test(&request->request, &isDone, MPI_STATUS_IGNORE);
  if (!isDone)
    return false;
  if (request->type != MPI_BYTE)
    MPI_Type_free(&request->type);
  delete request;
  return true;
}

static void finalize() { MPI_Finalize(); }

static void abortAll(int exitCode) {
  MPI_Abort(MPI_COMM_WORLD, exitCode);
  std::_Exit(exitCode);
}

extern "C" const MpiModule *commuteGetMpiModule() {
  static const MpiModule module = {initialize,        startSend,    probe,
                                   startReceiveFound, startReceive, finish,
                                   finalize,          abortAll};
  return &module;
}
