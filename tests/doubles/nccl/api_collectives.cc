// The calls that move data. Within a group they are kept, per communicator and stream, until its
// end.
#include <cstdio>
#include <utility>
#include <vector>

#include "nccl/api.h"
#include "nccl/log.h"
#include "nccl/reduce.h"

namespace safelaunch::testing {
namespace {

struct Batch {
  ncclComm_t comm;
  cudaStream_t stream;
  std::vector<Operation> operations;
};

thread_local int group_depth = 0;
thread_local std::vector<Batch> batches;

void log_call(const Operation& one, ncclComm_t comm, cudaStream_t stream) {
  char text[512];
  std::snprintf(text, sizeof text,
                "%s: opCount 0 sendbuff %p recvbuff %p count %zu datatype %d op %d root %d comm %p "
                "[nranks=%d] stream %p",
                one.name, one.input, one.output, one.count, one.type, one.op, one.root,
                static_cast<void*>(comm), comm->body->self().nranks, static_cast<void*>(stream));
  log_info(Subsystem::coll, comm->body->self().device, text);
}

ncclResult_t flush() {
  ncclResult_t worst = ncclSuccess;
  for (Batch& batch : std::exchange(batches, {})) {
    const ncclResult_t result = do_or_begin(
        batch.comm, [body = batch.comm->body.get(), operations = std::move(batch.operations),
                     stream = reinterpret_cast<CUstream>(batch.stream)] {
          return body->launch(operations, stream);
        });
    if (result != ncclSuccess) worst = result;
  }
  return worst;
}

ncclResult_t enqueue(ncclComm_t comm, cudaStream_t stream, Operation operation) {
  if (const ncclResult_t result = ready(comm); result != ncclSuccess) return result;
  if (size_of(operation.type) == 0) return ncclInvalidArgument;
  if (operation.op >= ncclNumOps) {
    operation.factor = comm->body->factor(operation.op);
    if (!operation.factor) return ncclInvalidArgument;
    operation.op = ncclSum;
  }
  log_call(operation, comm, stream);
  if (batches.empty() || batches.back().comm != comm || batches.back().stream != stream)
    batches.push_back({comm, stream, {}});
  batches.back().operations.push_back(std::move(operation));
  return group_depth > 0 ? ncclSuccess : flush();
}

}  // namespace
}  // namespace safelaunch::testing

using namespace safelaunch::testing;
using Kind = Operation::Kind;

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) return ncclInvalidUsage;
  return --group_depth == 0 ? flush() : ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream, {Kind::all_reduce, "AllReduce", send, receive, count, type, op});
}

ncclResult_t ncclReduce(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream, {Kind::reduce, "Reduce", send, receive, count, type, op, root});
}

ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream,
                 {Kind::broadcast, "Broadcast", send, receive, count, type, ncclSum, root});
}

ncclResult_t ncclAllGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream, {Kind::all_gather, "AllGather", send, receive, count, type});
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, std::size_t count,
                               ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream) {
  return enqueue(comm, stream,
                 {Kind::reduce_scatter, "ReduceScatter", send, receive, count, type, op});
}

ncclResult_t ncclBcast(void* memory, std::size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t stream) {
  return ncclBroadcast(memory, memory, count, type, root, comm, stream);
}

ncclResult_t ncclAlltoAll(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream, {Kind::all_to_all, "AlltoAll", send, receive, count, type});
}

ncclResult_t ncclGather(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream, {Kind::gather, "Gather", send, receive, count, type, ncclSum, root});
}

ncclResult_t ncclScatter(const void* send, void* receive, std::size_t count, ncclDataType_t type,
                         int root, ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream,
                 {Kind::scatter, "Scatter", send, receive, count, type, ncclSum, root});
}

ncclResult_t ncclSend(const void* buffer, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream, {Kind::send, "Send", buffer, nullptr, count, type, ncclSum, peer});
}

ncclResult_t ncclRecv(void* buffer, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return enqueue(comm, stream,
                 {Kind::receive, "Recv", nullptr, buffer, count, type, ncclSum, peer});
}
