#include "safelaunch/run/gpu_memory.h"

namespace safelaunch {

GpuMemory::GpuMemory(boost::asio::io_context& io, Reaper& reaper, const Environment& environment)
    : io_(io),
      reaper_(reaper),
      query_{environment, kGpuDeadline},
      reading_(io, reaper, query_, [this](const GpuFacts& facts) { before_ = facts; }) {}

void GpuMemory::when_back(std::function<void(const std::string& why)> then) {
  wait_.emplace(io_, reaper_, query_, before_, [call = std::move(then)](const Drain& drain) {
    call(drain.state == Drain::State::given_up ? drain.why : std::string());
  });
}

}  // namespace safelaunch
