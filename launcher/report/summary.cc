#include "safelaunch/report/summary.h"

#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/redact.h"

namespace safelaunch {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const AttemptSummary& attempt) {
  Json json;
  json["attempt"] = attempt.number;
  json["profile"] = attempt.profile;
  json["end"] = name(attempt.end);
  json["seconds"] = std::chrono::duration<double>(attempt.took).count();
  json["stages"] = attempt.stages;
  if (!attempt.cause_id.empty()) {
    json["cause"] = {{"id", attempt.cause_id},         {"title", attempt.cause},
                     {"certainty", attempt.certainty}, {"explanation", attempt.explanation},
                     {"lines", attempt.lines},         {"remedy", attempt.remedy}};
  }
  if (!attempt.next.empty()) json["next"] = attempt.next;
  return json;
}

class Screen {
 public:
  Screen(Colour colour, std::string_view prefix) : colour_(colour), prefix_(prefix) {}

  void attempt(const AttemptSummary& attempt) {
    const bool good = attempt.end == AttemptEnd::completed;
    line(fmt::format("  attempt {}  {:<14} {}{}", attempt.number, attempt.profile,
                     paint(good ? "32" : "31", end_in_words(attempt)),
                     attempt.stages.empty() ? "" : "  (" + attempt.stages + ")"));
    if (!attempt.explanation.empty()) line("      " + attempt.explanation);
    if (!attempt.cause_id.empty())
      line(fmt::format("      cause: {} ({}, {})", attempt.cause, attempt.cause_id,
                       attempt.certainty));
    for (const std::string& shown : attempt.lines) line(paint("2", "      | " + shown));
    if (!attempt.remedy.empty()) line("      remedy: " + attempt.remedy);
  }

  void closing(const RunSummary& summary) {
    const bool healed = summary.attempts.back().end == AttemptEnd::completed;
    if (healed)
      line(paint("1;32", fmt::format("worked with {}", summary.attempts.back().profile)) +
           (summary.cost.empty() ? "" : "; cost: " + summary.cost));
    if (!summary.stopped_because.empty()) line("stopped: " + summary.stopped_because);
    if (!healed) line(fmt::format("exit status {}", summary.exit_code));
    if (!summary.directory.empty()) line("logs and evidence: " + summary.directory);
  }

  void line(const std::string& text) { text_.append(prefix_).append(text).append("\n"); }
  [[nodiscard]] std::string take() {
    if (!text_.empty()) text_.pop_back();
    return std::move(text_);
  }

 private:
  [[nodiscard]] std::string paint(const char* code, const std::string& text) const {
    return colour_ == Colour::off ? text : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
  }

  Colour colour_;
  std::string_view prefix_;
  std::string text_;
};

}  // namespace

const char* name(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::completed: return "completed";
    case AttemptEnd::failed_user: return "failed";
    case AttemptEnd::failed_comm: return "failed in communication";
    case AttemptEnd::hung: return "hung";
    case AttemptEnd::stalled: return "stalled in training";
    case AttemptEnd::interrupted: return "interrupted";
    case AttemptEnd::given_up: return "given up";
  }
  return "?";
}

RunSummary redacted(RunSummary summary, Redactor& redactor) {
  for (const AttemptSummary& attempt : summary.attempts) {
    redactor.learn(attempt.explanation);
    for (const std::string& line : attempt.lines) redactor.learn(line);
  }
  const auto clean = [&](std::string& text) { text = redactor.redact(std::string_view(text)); };
  clean(summary.stopped_because);
  clean(summary.cost);
  for (AttemptSummary& attempt : summary.attempts) {
    clean(attempt.explanation);
    clean(attempt.remedy);
    for (std::string& line : attempt.lines) clean(line);
  }
  return summary;
}

std::string outcome_json(const RunSummary& summary) {
  Json json;
  json["run"] = summary.run_id;
  json["command"] = summary.command;
  json["exit_status"] = summary.exit_code;
  const bool worked =
      !summary.attempts.empty() && summary.attempts.back().end == AttemptEnd::completed;
  json["worked_with"] = worked ? Json(summary.attempts.back().profile) : Json(nullptr);
  if (!summary.cost.empty()) json["cost"] = summary.cost;
  if (!summary.stopped_because.empty()) json["stopped_because"] = summary.stopped_because;
  json["attempts"] = Json::array();
  for (const AttemptSummary& attempt : summary.attempts)
    json["attempts"].push_back(to_json(attempt));
  if (!summary.directory.empty()) json["directory"] = summary.directory;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string end_in_words(const AttemptSummary& attempt) {
  const std::string took = describe_duration(attempt.took);
  switch (attempt.end) {
    case AttemptEnd::completed: return "completed in " + took;
    case AttemptEnd::failed_user: return "failed after " + took;
    case AttemptEnd::failed_comm: return "failed in communication after " + took;
    case AttemptEnd::hung: return "hung, stopped after " + took;
    case AttemptEnd::stalled: return "stalled in training, stopped after " + took;
    case AttemptEnd::interrupted: return "interrupted after " + took;
    case AttemptEnd::given_up: return "given up after " + took;
  }
  return took;
}

bool worth_telling(const RunSummary& summary) {
  if (summary.attempts.empty()) return false;
  if (summary.attempts.size() > 1) return true;
  const AttemptSummary& only = summary.attempts.front();
  return only.end != AttemptEnd::completed && only.end != AttemptEnd::interrupted &&
         !only.told_by_itself;
}

std::string closing_screen(const RunSummary& summary, Colour colour, std::string_view prefix) {
  if (summary.attempts.empty()) return {};
  Screen screen(colour, prefix);
  screen.line("what happened");
  for (const AttemptSummary& attempt : summary.attempts) screen.attempt(attempt);
  screen.closing(summary);
  return screen.take();
}

}  // namespace safelaunch
