#include "safelaunch/gpu/gpu_reader.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <optional>

#include "safelaunch/gpu/gpu_lines.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/launch/probe_program.h"

namespace safelaunch {
namespace {

/// What can be said without a process: a machine without a driver must not pay for one.
std::optional<GpuFacts> facts_at_once(const GpuQuery& query) {
  if (!find_library("libnvidia-ml.so.1", query.environment).empty()) return std::nullopt;
  GpuFacts facts;
  facts.trouble = GpuTrouble::no_driver;
  facts.why = "no NVIDIA driver: there is no libnvidia-ml.so.1";
  return facts;
}

Result<HelperSpec> helper_for(const GpuQuery& query) {
  const Result<std::string> probe = find_probe_program(query.environment);
  if (!probe) return probe.error();
  return HelperSpec{{*probe, "gpus"}, query.environment, query.deadline};
}

GpuFacts not_started(const Error& error) {
  GpuFacts facts;
  facts.trouble = GpuTrouble::failed;
  facts.why = "the driver is not asked: " + error.message;
  return facts;
}

}  // namespace

/// Handlers hold it weakly: a destroyed reading is told of nothing.
struct GpuReading::State : std::enable_shared_from_this<State> {
  State(OnGpuFacts then, Duration limit) : on_facts(std::move(then)), deadline(limit) {}

  Result<void> start(boost::asio::io_context& io, Reaper& reaper, const GpuQuery& query);
  void answer_later(boost::asio::io_context& io, const GpuFacts& facts);

  OnGpuFacts on_facts;
  Duration deadline;
  GpuLines lines;
  std::optional<Helper> helper;
};

Result<void> GpuReading::State::start(boost::asio::io_context& io, Reaper& reaper,
                                      const GpuQuery& query) {
  const auto spec = helper_for(query);
  if (!spec) return spec.error();
  const auto take_line = [weak = weak_from_this()](std::string_view line) {
    if (const auto state = weak.lock()) state->lines.take(line);
  };
  const auto take_end = [weak = weak_from_this()](const HelperEnd& end) {
    const auto state = weak.lock();
    if (state) state->on_facts(std::move(state->lines).finish(end, state->deadline));
  };
  auto started = Helper::start(io, reaper, *spec, take_line, take_end);
  if (!started) return started.error();
  helper.emplace(std::move(*started));
  return {};
}

void GpuReading::State::answer_later(boost::asio::io_context& io, const GpuFacts& facts) {
  boost::asio::post(io, [weak = weak_from_this(), facts] {
    if (const auto state = weak.lock()) state->on_facts(facts);
  });
}

GpuReading::GpuReading(boost::asio::io_context& io, Reaper& reaper, const GpuQuery& query,
                       OnGpuFacts on_facts)
    : state_(std::make_shared<State>(std::move(on_facts), query.deadline)) {
  if (const auto facts = facts_at_once(query))
    state_->answer_later(io, *facts);
  else if (const auto started = state_->start(io, reaper, query); !started)
    state_->answer_later(io, not_started(started.error()));
}

GpuReading::GpuReading(GpuReading&&) noexcept = default;
GpuReading& GpuReading::operator=(GpuReading&&) noexcept = default;
GpuReading::~GpuReading() = default;

GpuFacts read_gpu_facts(const GpuQuery& query) {
  if (auto facts = facts_at_once(query)) return std::move(*facts);
  const auto spec = helper_for(query);
  if (!spec) return not_started(spec.error());
  const auto output = run_helper(*spec);
  if (!output) return not_started(output.error());
  GpuLines lines;
  for (const auto& line : output->lines) lines.take(line);
  return std::move(lines).finish(output->end, query.deadline);
}

}  // namespace safelaunch
