// Graphs: capture and replay are the driver's; calls that would build a graph by hand say that they
// cannot.
#include "cudart/driver.h"

using namespace safelaunch::testing;

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return in_context([=] {
    return cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
  static_assert(sizeof *id == sizeof(cuuint64_t));
  return in_context([=] {
    return cuStreamGetCaptureInfo(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                  reinterpret_cast<cuuint64_t*>(id), graph, dependencies,
                                  reinterpret_cast<const CUgraphEdgeData**>(edges), count);
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return told(cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode)));
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* edges, std::size_t count,
                                                unsigned flags) {
  return in_context([=] {
    return cuStreamUpdateCaptureDependencies(
        stream, dependencies, reinterpret_cast<const CUgraphEdgeData*>(edges), count, flags);
  });
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t*, const cudaGraphNode_t*,
                                     const cudaGraphEdgeData*, std::size_t) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                        std::size_t, cudaEvent_t) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                      std::size_t, cudaEvent_t) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, std::size_t,
                                 const cudaHostNodeParams*) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                                   std::size_t, const cudaKernelNodeParams*) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t*, void*, cudaHostFn_t, unsigned, unsigned) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t, cudaUserObject_t, unsigned, unsigned) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t, unsigned) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return in_context(
      [=] { return cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)); });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t, cudaGraph_t, const cudaGraphNode_t*,
                                          const cudaGraphEdgeData*, std::size_t,
                                          cudaStreamCaptureMode) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return in_context([=] { return cuStreamEndCapture(stream, graph); });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*,
                             const cudaGraphEdgeData*, std::size_t, cudaGraphNodeParams*) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle*, cudaGraph_t, unsigned,
                                             unsigned) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t, const char*, unsigned) {  // torch up to 2.13 asks
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return told(cuGraphDestroy(graph));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return told(cuGraphExecDestroy(executable));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return told(cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t, cudaGraphNode_t*, cudaGraphEdgeData*,
                                         std::size_t*) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long flags) {
  return told(cuGraphInstantiateWithFlags(executable, graph, flags));
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return in_context([=] { return cuGraphLaunch(executable, stream); });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType, void* value) {
  *static_cast<cuuint64_t*>(value) = 0;  // graphs have no memory of their own here
  return cudaSuccess;
}

cudaError_t cudaDeviceSetGraphMemAttribute(int, cudaGraphMemAttributeType, void*) {
  return cudaSuccess;
}
