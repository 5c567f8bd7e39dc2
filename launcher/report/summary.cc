#include "safelaunch/report/summary.h"

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/redact/redactor.h"

// Screen and outcome.json are made from the same values. The screen tells each attempt, then what
// worked or why safelaunch stopped; a line is left out where nothing is known. A reader of an older
// or newer outcome takes an unknown end for a plain failure.
namespace safelaunch::report {
namespace {

Json to_json(const Failure& failure) {
  return {{"id", failure.cause},
          {"title", failure.title},
          {"certainty", name(failure.certainty)},
          {"explanation", failure.explanation},
          {"lines", failure.lines},
          {"remedy", failure.remedy}};
}

Json to_json(const AttemptSummary& attempt) {
  Json json;
  json["attempt"] = attempt.number;
  json["profile"] = attempt.profile;
  json["end"] = end_name(attempt.failure);
  json["seconds"] = std::chrono::duration<double>(attempt.took).count();
  json["stages"] = attempt.stages;
  if (attempt.failure && !attempt.failure->cause.empty()) json["cause"] = to_json(*attempt.failure);
  if (!attempt.next.empty()) json["next"] = attempt.next;
  return json;
}

class Screen {
 public:
  Screen(Colour colour, std::string_view prefix, Fallbacks fallbacks)
      : colour_(colour), prefix_(prefix), fallbacks_(fallbacks) {}

  void attempt(const AttemptSummary& attempt) {
    const bool is_told = fallbacks_ == Fallbacks::told && !attempt.next.empty() && attempt.failure;
    line(tr("  attempt {}  {:<14} {}{}{}", attempt.number, attempt.profile,
            paint(attempt.failure ? "31" : "32", end_in_words(attempt)),
            attempt.stages.empty() ? "" : "  (" + attempt.stages + ")",
            is_told ? ": " + attempt.failure->cause : ""));
    if (!attempt.failure) return;
    if (!is_told) verdict(*attempt.failure);
    advice(*attempt.failure);
  }

  void verdict(const Failure& failure) {
    if (!failure.explanation.empty()) line("      " + tr(failure.explanation));
    if (!failure.cause.empty())
      line(tr("      cause: {} ({}, {})", tr(failure.title), failure.cause,
              tr(name(failure.certainty))));
  }

  void advice(const Failure& failure) {
    for (const std::string& shown : failure.lines) line(paint("2", "      | " + shown));
    if (!failure.remedy.empty()) line(tr("      remedy: {}", tr(failure.remedy)));
  }

  void closing(const RunSummary& summary) {
    const bool healed = !summary.attempts.back().failure;
    if (healed)
      line(paint("1;32", tr("worked with {}", summary.attempts.back().profile)) +
           (summary.cost.empty() ? "" : tr("; cost: {}", tr(cost_untold(summary)))));
    if (!summary.stopped_because.empty()) line(tr("stopped: {}", tr(summary.stopped_because)));
    if (!healed) line(tr("exit status {}", summary.exit_code));
    if (!summary.directory.empty()) line(tr("logs and evidence: {}", summary.directory));
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

  // The screen has said with the retry what "large (…)" means.
  [[nodiscard]] std::string cost_untold(const RunSummary& summary) const {
    const bool is_told = fallbacks_ == Fallbacks::told && summary.attempts.size() > 1;
    return summary.cost.substr(0, is_told ? summary.cost.find(" (") : std::string::npos);
  }

  Colour colour_;
  std::string_view prefix_;
  Fallbacks fallbacks_;
  std::string text_;
};

// The failure that a word of end_name() stands for; nullopt for "completed". An unknown word, of
// another version of safelaunch, is a plain failure.
std::optional<Failure> failure_named(std::string_view word) {
  if (word == end_name(std::nullopt)) return std::nullopt;
  for (const FailureKind kind : {FailureKind::hung, FailureKind::stalled, FailureKind::interrupted,
                                 FailureKind::given_up, FailureKind::failed})
    for (const bool communication : {false, true}) {
      Failure failure{.kind = kind, .communication = communication};
      if (word == end_name(failure)) return failure;
    }
  return Failure{};
}

void read_cause(const Json& cause, Failure& failure) {
  failure.cause = text_of(cause, "id");
  failure.title = text_of(cause, "title");
  failure.certainty = certainty_named(text_of(cause, "certainty"));
  failure.explanation = text_of(cause, "explanation");
  failure.lines = texts_of(cause, "lines");
  failure.remedy = text_of(cause, "remedy");
}

AttemptSummary read_attempt(const Json& json) {
  AttemptSummary attempt;
  attempt.number = number_of(json, "attempt").value_or(0);
  attempt.profile = text_of(json, "profile");
  attempt.failure = failure_named(text_of(json, "end"));
  attempt.took = duration_of(json, "seconds");
  attempt.stages = text_of(json, "stages");
  attempt.next = text_of(json, "next");
  if (attempt.failure) read_cause(object_of(json, "cause"), *attempt.failure);
  return attempt;
}

}  // namespace

const char* end_name(const std::optional<Failure>& failure) {
  if (!failure) return "completed";
  switch (failure->kind) {
    case FailureKind::hung:
    case FailureKind::stood_still:
    case FailureKind::driver_silent:
    case FailureKind::not_started: return "hung";
    case FailureKind::stalled: return "stalled in training";
    case FailureKind::interrupted: return "interrupted";
    case FailureKind::given_up: return "given up";
    case FailureKind::failed:
    case FailureKind::rank_died:
    case FailureKind::raised:
    case FailureKind::world_size_mismatch:
    case FailureKind::duplicate_rank:
    case FailureKind::different_stores: break;
  }
  return failure->communication ? "failed in communication" : "failed";
}

RunSummary redacted(RunSummary summary, redact::Redactor& redactor) {
  for (const AttemptSummary& attempt : summary.attempts) {
    if (!attempt.failure) continue;
    redactor.learn(attempt.failure->explanation);
    for (const std::string& line : attempt.failure->lines) redactor.learn(line);
  }
  const auto clean = [&](std::string& text) { text = redactor.redact(std::string_view(text)); };
  clean(summary.stopped_because);
  clean(summary.cost);
  for (AttemptSummary& attempt : summary.attempts) {
    if (!attempt.failure) continue;
    clean(attempt.failure->explanation);
    clean(attempt.failure->remedy);
    for (std::string& line : attempt.failure->lines) clean(line);
  }
  return summary;
}

std::string outcome_json(const RunSummary& summary) {
  Json json;
  json["run"] = summary.run_id;
  json["command"] = summary.command;
  json["exit_status"] = summary.exit_code;
  const bool worked = !summary.attempts.empty() && !summary.attempts.back().failure;
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
  const auto& failure = attempt.failure;
  const bool stopped = failure && (is_hang(failure->kind) || failure->kind == FailureKind::stalled);
  const char* then = !failure ? " in " : stopped ? ", stopped after " : " after ";
  return tr(end_name(failure) + (then + describe_duration(attempt.took)));
}

bool worth_telling(const RunSummary& summary) {
  if (summary.attempts.empty()) return false;
  if (summary.attempts.size() > 1) return true;
  const AttemptSummary& only = summary.attempts.front();
  return only.failure && only.failure->kind != FailureKind::interrupted && !only.told_by_itself;
}

std::string closing_screen(const RunSummary& summary, Colour colour, std::string_view prefix,
                           Fallbacks fallbacks) {
  if (summary.attempts.empty()) return {};
  Screen screen(colour, prefix, fallbacks);
  screen.line(tr("what happened"));
  for (const AttemptSummary& attempt : summary.attempts) screen.attempt(attempt);
  screen.closing(summary);
  return screen.take();
}

std::optional<RunSummary> read_outcome(std::string_view text) {
  const Json json = parse_json<Json>(text);
  const Json* attempts = array_if(json, "attempts");
  if (attempts == nullptr) return std::nullopt;
  RunSummary summary;
  summary.run_id = text_of(json, "run");
  summary.command = texts_of(json, "command");
  summary.exit_code = number_of(json, "exit_status").value_or(0);
  summary.cost = text_of(json, "cost");
  summary.stopped_because = text_of(json, "stopped_because");
  summary.directory = text_of(json, "directory");
  for (const Json& attempt : *attempts)
    if (attempt.is_object()) summary.attempts.push_back(read_attempt(attempt));
  return summary;
}

}  // namespace safelaunch::report
