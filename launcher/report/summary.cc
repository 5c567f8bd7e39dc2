#include "safelaunch/report/summary.h"

#include "json.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/redact/redactor.h"

// Screen and outcome.json are made from the same values. The screen tells what happened first, then
// the attempts and why safelaunch stopped; a line is left out where nothing is known. A reader of
// an older or newer outcome takes an unknown end for a plain failure.
namespace safelaunch::report {
namespace {

Json to_json(const Failure& failure) {
  Json json{{"id", failure.cause},
            {"title", failure.title},
            {"certainty", name(failure.certainty)},
            {"explanation", failure.explanation},
            {"lines", failure.lines},
            {"remedy", failure.remedy}};
  if (failure.headline.empty()) return json;
  json["headline"] = failure.headline;
  json["places"] = failure.places;
  json["details"] = failure.details;
  return json;
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

// The verdict stands first, then the place in the program, what is known, and the way out.
class Closing {
 public:
  void verdict(const AttemptSummary& attempt) {
    const Failure& failure = *attempt.failure;
    const std::string told = headline(failure);
    line("", inked(Ink::fault, tr(end_name(failure)) + ":") + " " +
                 inked(Ink::bold,
                       told.empty() ? tr("after {}", describe_duration(attempt.took)) : tr(told)));
    evidence(failure, "  ");
  }

  void healed(const RunSummary& summary, Fallbacks fallbacks) {
    line("",
         inked(Ink::good, tr("worked with {}", summary.attempts.back().profile)) +
             (summary.cost.empty() ? "" : tr("; cost: {}", tr(cost_untold(summary, fallbacks)))));
  }

  void attempts(const RunSummary& summary, Fallbacks fallbacks) {
    for (const AttemptSummary& attempt : summary.attempts) {
      const bool is_last = &attempt == &summary.attempts.back();
      row(attempt, is_last ? "" : cause_of(attempt));
      if (!attempt.failure || is_last) continue;
      fallbacks == Fallbacks::told ? help(*attempt.failure, "      ")
                                   : evidence(*attempt.failure, "      ");
    }
  }

  void end(const RunSummary& summary, Fallbacks fallbacks) {
    const AttemptSummary& last = summary.attempts.back();
    if (summary.attempts.size() == 1) row(last, "");
    const std::string& why = summary.stopped_because;
    if (last.failure)
      line("  ", tr("exit status {}", summary.exit_code) + (why.empty() ? "" : ": " + tr(why)));
    if (summary.directory.empty()) return;
    if (fallbacks == Fallbacks::untold) return line("  ", tr("files: {}", summary.directory));
    line("  ", tr("more: safelaunch report {}", short_id(summary.run_id)));
    line("  ", inked(Ink::dim, tr("page: {}/report.html", summary.directory)));
  }

  [[nodiscard]] std::string take() {
    if (!text_.empty()) text_.pop_back();
    return std::move(text_);
  }

 private:
  void line(std::string_view indent, const std::string& text) {
    text_.append(indent).append(text).append("\n");
  }

  static std::string cause_of(const AttemptSummary& attempt) {
    const bool named = attempt.failure && !attempt.failure->cause.empty();
    return named ? ": " + attempt.failure->cause : "";
  }

  void row(const AttemptSummary& attempt, const std::string& cause) {
    line("  ", tr("attempt {}  {:<14}  {}{}{}", attempt.number, attempt.profile,
                  inked(attempt.failure ? Ink::fault : Ink::good, end_in_words(attempt)),
                  attempt.stages.empty() ? "" : " (" + attempt.stages + ")", cause));
  }

  void evidence(const Failure& failure, std::string_view indent) {
    for (const std::string& place : failure.places)
      line(indent, inked(Ink::dim, "-->") + " " + place);
    const std::string& told = failure.headline.empty() ? failure.explanation : failure.details;
    if (!told.empty()) line(indent, tr(told));
    for (const std::string& shown : failure.lines) line(indent, inked(Ink::dim, "| " + shown));
    if (!failure.cause.empty())
      line(indent, tr("cause: {} ({})", failure.cause, tr(name(failure.certainty))));
    help(failure, indent);
  }

  void help(const Failure& failure, std::string_view indent) {
    if (!failure.remedy.empty())
      line(indent, inked(Ink::help, tr("help:")) + " " + tr(failure.remedy));
  }

  // The screen has said with the retry what "large (…)" means.
  static std::string cost_untold(const RunSummary& summary, Fallbacks fallbacks) {
    const bool is_told = fallbacks == Fallbacks::told && summary.attempts.size() > 1;
    return summary.cost.substr(0, is_told ? summary.cost.find(" (") : std::string::npos);
  }

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
  failure.headline = text_of(cause, "headline");
  failure.places = texts_of(cause, "places");
  failure.details = text_of(cause, "details");
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
    for (const std::string& place : attempt.failure->places) redactor.learn(place);
    for (const std::string& line : attempt.failure->lines) redactor.learn(line);
  }
  const auto clean = [&](std::string& text) { text = redactor.redact(std::string_view(text)); };
  clean(summary.stopped_because);
  clean(summary.cost);
  for (AttemptSummary& attempt : summary.attempts) {
    if (!attempt.failure) continue;
    for (std::string* text : {&attempt.failure->headline, &attempt.failure->details,
                              &attempt.failure->explanation, &attempt.failure->remedy})
      clean(*text);
    for (std::vector<std::string>* texts : {&attempt.failure->places, &attempt.failure->lines})
      for (std::string& line : *texts) clean(line);
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

std::string headline(const Failure& failure) {
  return failure.headline.empty() ? failure.title : failure.headline;
}

std::string_view short_id(std::string_view run_id) {
  return run_id.substr(run_id.rfind('-') + 1);
}

std::string closing_screen(const RunSummary& summary, Fallbacks fallbacks) {
  if (summary.attempts.empty()) return {};
  Closing closing;
  const AttemptSummary& last = summary.attempts.back();
  last.failure ? closing.verdict(last) : closing.healed(summary, fallbacks);
  if (summary.attempts.size() > 1) closing.attempts(summary, fallbacks);
  closing.end(summary, fallbacks);
  return closing.take();
}

std::string verdict_screen(const AttemptSummary& attempt) {
  Closing closing;
  closing.verdict(attempt);
  return closing.take();
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
