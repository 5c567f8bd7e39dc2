#include "safelaunch/probe/survey.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/nccl/log_fact.h"

// The helper may print anything else beside its lines, or die in the middle: the last object that
// is ours counts, and without one the helper's end is the error.
namespace safelaunch::probe {
namespace {

using Json = nlohmann::json;

/// Nothing but a socket is opened.
constexpr Duration kNcclDeadline = std::chrono::seconds(10);

/// The objects among the lines that a helper printed.
std::vector<Json> objects_in(const std::vector<std::string>& lines) {
  std::vector<Json> objects;
  for (const std::string& line : lines)
    if (Json object = parse_json<Json>(line); object.is_object())
      objects.push_back(std::move(object));
  return objects;
}

/// The interface, as NCCL's log names it.
void read_interface(std::string_view log, NcclSurvey& survey) {
  while (!log.empty())
    if (const auto line = nccl::split_nccl_line(take_word(log, '\n')))
      if (const auto fact = nccl::fact_of(*line);
          const auto* chosen = std::get_if<nccl::InterfaceChosen>(&fact)) {
        survey.interface = chosen->name;
        survey.address = chosen->address;
      }
}

Environment with_log(Environment environment) {
  environment["NCCL_DEBUG"] = "INFO";
  environment["NCCL_DEBUG_FILE"] = "/dev/stderr";
  environment["NCCL_DEBUG_SUBSYS"] = "INIT,BOOTSTRAP,ENV,NET";
  return environment;
}

}  // namespace

Result<NcclSurvey> survey_nccl(const std::string& program, const std::string& file,
                               const Environment& environment) {
  const auto output =
      launch::run_helper({{program, "nccl", file}, with_log(environment), kNcclDeadline});
  if (!output) return output.error();
  const auto objects = objects_in(output->lines);
  if (objects.empty())
    return Error{Errc::peer_lost, fmt::format("{}: {}", file, describe(output->end))};
  const std::string failed = text_of(objects.back(), "failed", kLongestText);
  const auto told =
      std::ranges::find_if(objects, [](const Json& one) { return one.contains("nccl"); });
  if (told == objects.end())
    return Error{Errc::peer_lost,
                 failed.empty() ? fmt::format("{}: {}", file, describe(output->end)) : failed};
  NcclSurvey survey;
  survey.version = nccl::parse_nccl_version(text_of(*told, "nccl", kLongestText));
  read_interface(output->end.errors, survey);
  survey.failure = std::next(told) == objects.end() ? describe(output->end) : failed;
  return survey;
}

}  // namespace safelaunch::probe
