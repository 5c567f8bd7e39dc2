// Graphs: the work that streams are given while they are captured, and its replay.
#include "cuda/capture.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "cuda/context.h"

namespace safelaunch::testing {
namespace {

// Never freed, because they are used until the very end.
std::mutex captures_mutex;
auto& captures = *new std::map<const CUstream_st*, std::shared_ptr<Capture>>;
std::atomic<int> going_on = 0;

thread_local CUstreamCaptureMode mode_of_thread = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool forbids(const Capture& capture) {
  if (capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  const bool own = capture.thread == std::this_thread::get_id();
  return own || (capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                 mode_of_thread == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUgraphNode node_of(const CUgraph_st& graph, std::size_t place) {
  return reinterpret_cast<CUgraphNode>(const_cast<Work*>(&graph.work[place]));
}

}  // namespace

std::shared_ptr<Capture> capture_of(const CUstream_st& stream) {
  if (going_on == 0) return nullptr;
  const std::lock_guard lock(captures_mutex);
  const auto found = captures.find(&stream);
  return found == captures.end() ? nullptr : found->second;
}

void join_capture(CUstream_st& stream, const std::shared_ptr<Capture>& capture) {
  const std::lock_guard lock(captures_mutex);
  captures[&stream] = capture;
}

CUresult put(CUstream stream, Work work) {
  CUstream_st& target = *stream_or_default(stream);
  if (const auto capture = capture_of(target)) {
    const std::lock_guard lock(capture->mutex);
    if (!capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    capture->graph->work.push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  if (!work.run) return CUDA_SUCCESS;
  if (work.manner == Manner::quick)
    target.queue->add(std::move(work.run));
  else
    target.queue->add_waiting(std::move(work.run));
  return CUDA_SUCCESS;
}

CUresult safe_for_captures() {
  if (going_on == 0 || mode_of_thread == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::lock_guard lock(captures_mutex);
  CUresult result = CUDA_SUCCESS;
  for (const auto& [stream, capture] : captures) {
    if (!forbids(*capture)) continue;
    const std::lock_guard held(capture->mutex);
    capture->is_valid = false;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(mode_of_thread, *mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  if (!stream || stream == CU_STREAM_LEGACY) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  static std::atomic<cuuint64_t> last_id = 0;
  auto capture = std::make_shared<Capture>();
  capture->origin = stream_or_default(stream);
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = ++last_id;
  if (capture_of(*capture->origin)) return CUDA_ERROR_ILLEGAL_STATE;
  ++going_on;
  join_capture(*capture->origin, capture);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  if (graph) *graph = nullptr;
  const CUstream_st& target = *stream_or_default(stream);
  const auto capture = capture_of(target);
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &target) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  {
    const std::lock_guard lock(captures_mutex);
    std::erase_if(captures, [&](const auto& one) { return one.second == capture; });
  }
  --going_on;
  if (!capture->is_valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *graph = capture->graph.release();
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return cuStreamGetCaptureInfo_v3(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, std::size_t* count) {
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  const auto capture = capture_of(*stream_or_default(stream));
  if (!capture) return CUDA_SUCCESS;
  const std::lock_guard lock(capture->mutex);
  *status =
      capture->is_valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  if (id) *id = capture->id;
  if (graph) *graph = capture->graph.get();
  if (edges) *edges = nullptr;
  thread_local CUgraphNode last;
  const std::size_t nodes = capture->graph->work.size();
  if (nodes > 0) last = node_of(*capture->graph, nodes - 1);
  if (dependencies) *dependencies = &last;
  if (count) *count = nodes > 0 ? 1 : 0;
  return CUDA_SUCCESS;
}

// Everything is done in the order of the calls, whatever depends on what.
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode*, const CUgraphEdgeData*,
                                              std::size_t, unsigned) {
  return capture_of(*stream_or_default(stream)) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  const std::size_t room = nodes ? *count : 0;
  *count = graph->work.size();
  for (std::size_t i = 0; i < std::min(room, *count); ++i) nodes[i] = node_of(*graph, i);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  *executable = new CUgraphExec_st{graph->work};
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (const CUresult result = ready(); result != CUDA_SUCCESS) return result;
  for (const Work& work : executable->work)
    if (const CUresult result = put(stream, work); result != CUDA_SUCCESS) return result;
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
