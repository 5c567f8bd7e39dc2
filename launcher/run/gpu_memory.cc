#include "gpu_memory.h"

namespace safelaunch::run {

GpuMemory::GpuMemory(boost::asio::io_context& io, launch::Reaper& reaper,
                     const Environment& environment)
    : io_(io),
      reaper_(reaper),
      query_{environment, gpu::kGpuDeadline},
      reading_(io, reaper, query_, [this](const gpu::Facts& facts) { before_ = facts; }) {}

void GpuMemory::when_back(std::function<void(const std::string& why)> then) {
  wait_.emplace(io_, reaper_, query_, before_, [call = std::move(then)](const gpu::Drain& drain) {
    call(drain.state == gpu::Drain::State::given_up ? drain.why : std::string());
  });
}

}  // namespace safelaunch::run
