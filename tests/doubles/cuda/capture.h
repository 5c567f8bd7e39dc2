#pragma once

#include "cuda/api.h"

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace safelaunch::testing {

/// How a piece of work is done: at once where that is possible, or by the stream's thread because it
/// may wait.
enum class Manner { quick, waiting };

struct Work {
  std::function<void()> run;
  Manner manner;
};

}  // namespace safelaunch::testing

/// A graph: what was captured, in the order of the calls, whatever stream it was meant for. A node
/// is known by its place.
struct CUgraph_st {
  std::vector<safelaunch::testing::Work> work;
};
struct CUgraphExec_st {
  std::vector<safelaunch::testing::Work> work;
};

namespace safelaunch::testing {

/// A capture that goes on. All streams that an event has brought into it share it.
struct Capture {
  CUstream_st* origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  cuuint64_t id;
  std::mutex mutex;
  std::unique_ptr<CUgraph_st> graph = std::make_unique<CUgraph_st>();
  bool is_valid = true;
};

/// The capture that a stream takes part in; null if it does not.
[[nodiscard]] std::shared_ptr<Capture> capture_of(const CUstream_st& stream);

/// Brings a stream into a capture, for an event of it that the stream waits for.
void join_capture(CUstream_st& stream, const std::shared_ptr<Capture>& capture);

/// Puts work on a stream, or into the graph that it is captured for. Without a function it is a
/// kernel that does nothing, of which only a graph takes note.
CUresult put(CUstream stream, Work work);

/// For a call that must not be made while streams are captured, by the mode of the captures and of
/// this thread: CUDA_SUCCESS, or CUDA's error, and the captures are lost.
[[nodiscard]] CUresult safe_for_captures();

}  // namespace safelaunch::testing
