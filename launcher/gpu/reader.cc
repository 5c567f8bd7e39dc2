#include "safelaunch/gpu/reader.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "facts_json.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/launch/find_program.h"

// A machine without NVML is answered at once. Otherwise a helper process asks the driver; its lines
// are collected (facts_json.h), and the way in which it ended decides whether they are all.
namespace safelaunch::gpu {
namespace {

/// The answer that needs no process: a machine without a driver must not pay for one.
std::optional<Facts> facts_at_once(const Query& query) {
  if (!find_library("libnvidia-ml.so.1", query.environment).empty()) return std::nullopt;
  Facts facts;
  facts.trouble = Trouble::no_driver;
  facts.why = "no NVIDIA driver: there is no libnvidia-ml.so.1";
  return facts;
}

Result<launch::HelperSpec> helper_for(const Query& query) {
  const Result<std::string> probe = launch::find_probe_program(query.environment);
  if (!probe) return probe.error();
  return launch::HelperSpec{{*probe, "gpus"}, query.environment, query.deadline};
}

Facts not_started(const Error& error) {
  Facts facts;
  facts.trouble = Trouble::failed;
  facts.why = "the driver is not asked: " + error.message;
  return facts;
}

}  // namespace

/// Handlers hold the state weakly, so a destroyed reading gets no call.
struct Reading::State : std::enable_shared_from_this<State> {
  State(OnGpuFacts then, Duration limit) : on_facts(std::move(then)), deadline(limit) {}

  Result<void> start(boost::asio::io_context& io, launch::Reaper& reaper, const Query& query);
  void answer_later(boost::asio::io_context& io, const Facts& facts);

  OnGpuFacts on_facts;
  Duration deadline;
  Lines lines;
  std::optional<launch::Helper> helper;
};

Result<void> Reading::State::start(boost::asio::io_context& io, launch::Reaper& reaper,
                                   const Query& query) {
  const auto spec = helper_for(query);
  if (!spec) return spec.error();
  const auto take_line = [weak = weak_from_this()](std::string_view line) {
    if (const auto state = weak.lock()) state->lines.take(line);
  };
  const auto take_end = [weak = weak_from_this()](const launch::HelperEnd& end) {
    const auto state = weak.lock();
    if (state) state->on_facts(std::move(state->lines).finish(end, state->deadline));
  };
  auto started = launch::Helper::start(io, reaper, *spec, take_line, take_end);
  if (!started) return started.error();
  helper.emplace(std::move(*started));
  return {};
}

void Reading::State::answer_later(boost::asio::io_context& io, const Facts& facts) {
  boost::asio::post(io, [weak = weak_from_this(), facts] {
    if (const auto state = weak.lock()) state->on_facts(facts);
  });
}

Reading::Reading(boost::asio::io_context& io, launch::Reaper& reaper, const Query& query,
                 OnGpuFacts on_facts)
    : state_(std::make_shared<State>(std::move(on_facts), query.deadline)) {
  if (const auto facts = facts_at_once(query))
    state_->answer_later(io, *facts);
  else if (const auto started = state_->start(io, reaper, query); !started)
    state_->answer_later(io, not_started(started.error()));
}

Reading::Reading(Reading&&) noexcept = default;
Reading& Reading::operator=(Reading&&) noexcept = default;
Reading::~Reading() = default;

Facts read_gpu_facts(const Query& query) {
  if (auto facts = facts_at_once(query)) return std::move(*facts);
  const auto spec = helper_for(query);
  if (!spec) return not_started(spec.error());
  const auto output = launch::run_helper(*spec);
  if (!output) return not_started(output.error());
  Lines lines;
  for (const auto& line : output->lines) lines.take(line);
  return std::move(lines).finish(output->end, query.deadline);
}

}  // namespace safelaunch::gpu
