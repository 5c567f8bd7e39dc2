#include "safelaunch/gpu/visible.h"

#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/launch/helper.h"

// The helper prints one object once all is known. It may print anything else beside it, or die in
// the middle: the last object counts, and without one the helper's end is the answer.
namespace safelaunch::gpu {
namespace {

using Answer = nlohmann::json;

/// A longer text is no name and no error message but garbage.
constexpr std::size_t kLongestAnswer = 2000;

Answer last_object(const std::vector<std::string>& lines) {
  Answer last;
  for (const std::string& line : lines)
    if (Answer object = parse_json<Answer>(line); object.is_object()) last = std::move(object);
  return last;
}

std::string cuda_version(const Answer& object) {
  const auto code = number_of<std::int64_t>(object, "cuda");
  return code && *code > 0 ? fmt::format("{}.{}", *code / 1000, *code % 1000 / 10) : std::string();
}

VisibleGpus none(Trouble trouble, std::string why) {
  return {trouble, std::move(why), {}, {}};
}

/// A driver that works may have nothing to show.
Trouble trouble_without(std::string_view lacking) {
  if (lacking == "gpu") return Trouble::none;
  return lacking == "driver" ? Trouble::no_driver : Trouble::failed;
}

VisibleGpus without_answer(const launch::HelperEnd& end, Duration deadline) {
  if (end.timed_out || !end.status)
    return none(Trouble::no_answer, fmt::format("the CUDA driver does not answer within {}",
                                                describe_duration(deadline)));
  return none(Trouble::crashed, "the CUDA driver gave no answer: " + launch::describe(end));
}

}  // namespace

bool may_find_gpu(const Environment& environment) {
  return host::has_gpu_device() || !find_library("libcuda.so.1", environment).empty();
}

VisibleGpus ask_cuda(const std::string& program, const Environment& environment,
                     Duration deadline) {
  const auto output = launch::run_helper({{program, "driver"}, environment, deadline});
  if (!output) return none(Trouble::failed, output.error().message);
  const Answer object = last_object(output->lines);
  if (!object.is_object()) return without_answer(output->end, deadline);
  if (std::string why = text_of(object, "failed", kLongestAnswer); !why.empty()) {
    return none(trouble_without(text_of(object, "lacks", kLongestAnswer)), std::move(why));
  }
  VisibleGpus visible{Trouble::none, {}, cuda_version(object), texts_of(object, "gpus")};
  if (visible.names.empty()) visible.why = "the CUDA driver names no GPU";
  return visible;
}

VisibleGpus find_visible_gpus(const Environment& environment, Duration deadline) {
  if (!may_find_gpu(environment))
    return none(Trouble::no_driver, "no CUDA driver: there is no libcuda.so.1");
  const auto program = launch::find_probe_program(environment);
  if (!program) return none(Trouble::failed, "the driver is not asked: " + program.error().message);
  return ask_cuda(*program, environment, deadline);
}

std::optional<int> count_gpus(const VisibleGpus& visible, const Facts& nvml, int devices) {
  switch (visible.trouble) {
    case Trouble::no_answer:
    case Trouble::crashed: return devices > 0 ? std::optional(devices) : std::nullopt;
    case Trouble::failed:
      return nvml.trouble == Trouble::none ? static_cast<int>(nvml.gpus.size()) : devices;
    default: return static_cast<int>(visible.names.size());
  }
}

}  // namespace safelaunch::gpu
