#include "safelaunch/trial/tried_text.h"

#include <nlohmann/json.hpp>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/strings.h"

// One line tells how far the ranks came. The reason below it is the error that a rank has told, and
// only where none has, the run's own explanation.
namespace safelaunch::trial {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kIndent = 11;

std::string below(std::string_view text) {
  return text.empty() ? "" : fmt::format("{:{}}{}\n", "", kIndent, tr(text));
}

// The run's own words on the ranks say more than the error of one of them.
std::string reason_of(const Tried& tried) {
  std::string text;
  const bool explained = tried.failure && !tried.failure->explanation.empty();
  if (explained && tried.trouble.empty()) text += below(tried.failure->explanation);
  text += below(tried.trouble);
  if (!tried.failure || tried.failure->cause.empty()) return text;
  // An error of the worker's own says all; there is no script that could be to blame.
  if (tried.failure->cause == cause::kUserException && !tried.trouble.empty()) return text;
  text += below(fmt::format("cause: {} ({}, {})", tried.failure->title, tried.failure->cause,
                            name(tried.failure->certainty)));
  if (!tried.failure->remedy.empty()) text += below(fmt::format("help: {}", tried.failure->remedy));
  return text;
}

std::string done_in_words(const Tried& tried) {
  std::vector<std::string> words;
  for (const DoneStep& step : tried.done) words.push_back(fmt::format("{} ✓", step.name));
  if (!tried.stopped_at.empty())
    words.push_back(fmt::format("{} ✗ {}", tried.stopped_at,
                                tr(tried.hung      ? "hangs"
                                   : tried.blocked ? "blocked"
                                                   : "fails")));
  else if (!tried.works)
    words.push_back(tr("end ✗ fails"));  // all was done, and then a rank failed
  else if (!tried.device.empty())
    words.push_back(fmt::format("({})", tried.device));
  return join(words, " ");
}

Json to_json(const Failure& failure) {
  return {{"cause", failure.cause},
          {"title", failure.title},
          {"certainty", name(failure.certainty)},
          {"explanation", failure.explanation},
          {"remedy", failure.remedy}};
}

Json to_json(const Tried& tried) {
  Json json{{"backend", word_of(tried.scene.backend)}};
  if (!tried.scene.absent.empty()) {
    json["tried"] = false;
    json["why"] = tried.scene.absent;
    return json;
  }
  json["tried"] = true;
  json["works"] = tried.works;
  json["ranks"] = tried.scene.ranks;
  json["steps"] = Json::array();
  for (const DoneStep& step : tried.done)
    json["steps"].push_back(
        {{"step", step.name}, {"seconds", std::chrono::duration<double>(step.took).count()}});
  if (!tried.device.empty()) json["device"] = tried.device;
  if (!tried.profile.empty()) json["profile"] = tried.profile;
  json["attempts"] = tried.attempts;
  if (!tried.stopped_at.empty()) json["stopped_at"] = tried.stopped_at;
  if (!tried.works) json["hung"] = tried.hung, json["blocked"] = tried.blocked;
  if (!tried.trouble.empty()) json["trouble"] = tried.trouble;
  if (tried.failure) json["failure"] = to_json(*tried.failure);
  json["notices"] = tried.notices;
  json["run"] = tried.run;
  for (const Tried& fewer : tried.fewer) json["fewer"].push_back(to_json(fewer));
  return json;
}

}  // namespace

std::string begin_of(const Scene& scene) {
  const std::string title = fmt::format("{:<{}}", name_of(scene.backend), kIndent);
  if (!scene.absent.empty()) return title;
  const std::string patience =
      scene.backend == Backend::deepspeed
          ? tr("a first start builds its extension, for a minute or more") + "\n" +
                std::string(kIndent, ' ')
          : "";
  return title + patience +
         (scene.ranks == 1 ? tr("{} rank   ", 1) : tr("{} ranks  ", scene.ranks));
}

std::string rest_of(const Tried& tried) {
  if (!tried.scene.absent.empty()) return tr("not tried: {}", tr(tried.scene.absent)) + "\n";
  std::string text = done_in_words(tried);
  if (tried.works && tried.attempts > 1) text += tr(", only under profile {}", tried.profile);
  text += "\n";
  for (const std::string& notice : tried.notices) text += below(notice);
  if (tried.works) return text;
  text += reason_of(tried);
  if (!tried.run.empty())
    text += below(fmt::format("stacks and logs: safelaunch report {}", tried.run));
  return text;
}

std::string line_of_fewer(const Tried& tried) {
  const std::string done = tried.works ? "✓" : done_in_words(tried);
  return below(tried.scene.ranks == 1 ? tr("alone: {}", done)
                                      : tr("{} ranks: {}", tried.scene.ranks, done));
}

std::string in_words(const Conclusion& conclusion) {
  std::string text = "\n" + tr(conclusion.sentence) + "\n";
  if (!conclusion.use.empty()) text += tr("use: {}", conclusion.use) + "\n";
  return text;
}

std::string trial_json(const JsonGround& ground, std::span<const Tried> tried,
                       const Conclusion& conclusion) {
  Json json;
  json["python"] = {{"interpreter", ground.interpreter},
                    {"version", ground.python.version},
                    {"packages", ground.python.packages}};
  if (!ground.nccl.empty()) json["nccl"] = ground.nccl;
  const Json findings = parse_json<Json>(ground.findings);
  json["host"] = findings.is_discarded() ? Json() : findings;
  json["backends"] = Json::array();
  for (const Tried& one : tried) json["backends"].push_back(to_json(one));
  json["conclusion"] = conclusion.sentence;
  json["use"] = conclusion.use;
  json["status"] = conclusion.status;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::trial
