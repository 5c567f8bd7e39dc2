#include "run_voice.h"

#include <algorithm>

#include "run_ledger.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/failure_words.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/plan/json_file.h"
#include "safelaunch/report/run_files.h"

// All that a run says goes through here, so that --quiet and --json hold for every line. A failure
// gets few lines: what happened, the cause, and the next attempt. The report has the rest.
namespace safelaunch::run {
namespace {

struct LastWords {
  std::string text;
  bool shared = false;  ///< other ranks write to that stream, too
};

// The last words of a rank on one of its streams, or on the one that all ranks share.
LastWords last_words(const AttemptRecord& record, output::StdStream stream,
                     std::optional<Rank> rank) {
  LastWords words;
  std::string text;
  for (const auto& [id, tail] : record.tails) {
    if (id.stream != stream || (id.rank && rank && id.rank != rank)) continue;
    text += diagnose::with_rank_tags(tail, record.ranks.pids);
    words.shared = words.shared || !id.rank;
  }
  words.text = diagnose::failure_words(text, diagnose::catalogue(), rank);
  return words;
}

// Its output is on its own node's screen; ours shows what the ranks of this node said.
bool ran_elsewhere(const AttemptRecord& record, std::optional<Rank> rank) {
  const auto elsewhere = [&](const auto& deed) {
    return deed.rank == rank && !deed.process.is_here();
  };
  return std::ranges::any_of(record.ranks.exits, elsewhere) ||
         std::ranges::any_of(record.ranks.raised, elsewhere);
}

constexpr std::size_t kMostNamed = 5;

std::string in_words(const launch::Survivor& survivor) {
  if (!survivor.refused)
    return fmt::format("warning: pid {} was killed and does not end (state {})", survivor.pid,
                       survivor.state);
  const auto facts = host::facts_of(survivor.pid);
  return fmt::format(
      "warning: the job leaves pid {} ({}) running: it belongs to user {} (a setuid program), and "
      "safelaunch may not signal it",
      survivor.pid, facts ? facts->comm : "?", facts ? host::user_name(facts->uid) : "?");
}

std::string in_words(const std::vector<launch::Swept>& swept) {
  std::string names;
  for (const launch::Swept& one : std::span(swept).first(std::min(swept.size(), kMostNamed)))
    names += fmt::format("{}{} (pid {})", names.empty() ? "" : ", ", one.name, one.pid);
  if (swept.size() > kMostNamed) names += fmt::format(" and {} more", swept.size() - kMostNamed);
  return fmt::format(
      "ended what the job had left running: {}; {} in its environment keeps a process", names,
      kKeepSetting);
}

}  // namespace

int status_with(int status, const output::LostOutput& lost) {
  return status == 0 && lost.refused_job ? exit_code_of(Errc::not_written) : status;
}

void RunVoice::say(std::string_view text) {
  if (plan_.options.verbosity != Verbosity::quiet) tell_error(text);
}

void RunVoice::tell_error(std::string_view text) {
  terminal_.write_message(from_us(tr(text)));
}

void RunVoice::tell_of_start(int attempt, const std::string& profile, std::optional<int> port,
                             const std::string& record) {
  if (plan_.options.verbosity != Verbosity::verbose) return;
  say(fmt::format("attempt {}: profile {}{}{}", attempt, profile,
                  port ? fmt::format(", port {}", *port) : "",
                  record.empty() ? "" : ", record in " + record));
}

void RunVoice::tell_of_fallback(const plan::NextStep& step) {
  say(report::verdict_screen(summary_.attempts.back()));
  tell_of_struck_out(step);
  if (step.resumes) return say("the training starts again " + step.why);
  say(fmt::format("retrying with {} ({}); cost: {}", step.profile->name, step.why,
                  plan::cost_in_words(plan_, *step.profile)));
}

void RunVoice::tell_of_struck_out(const plan::NextStep& step) {
  if (plan_.options.verbosity != Verbosity::verbose) return;
  std::vector<profile::StruckOut> told;  // those with one reason are told together
  for (const profile::StruckOut& struck : step.struck_out) {
    const auto same = std::ranges::find(told, struck.why, &profile::StruckOut::why);
    if (same == told.end())
      told.push_back(struck);
    else
      same->name += ", " + struck.name;
  }
  for (const profile::StruckOut& struck : told)
    say(fmt::format("skipping {}: {}", struck.name, struck.why));
}

void RunVoice::tell_of_first_failure(const AttemptRecord& record,
                                     const diagnose::Diagnosis& diagnosis) {
  const bool stuck = is_stuck(diagnosis.failure.kind);
  if (record.ended_elsewhere || ran_elsewhere(record, diagnosis.failure.first)) return;
  if (record.signal || stuck || summary_.attempts.back().told_by_itself) return;
  const std::optional<Rank> first = diagnosis.failure.first;
  const auto is_traceback = [](const LastWords& words) {
    return words.text.starts_with(diagnose::kTracebackBegins);
  };
  LastWords words = last_words(record, output::StdStream::err, first);
  if (!is_traceback(words))  // composer prints what its ranks wrote on stderr
    if (LastWords out = last_words(record, output::StdStream::out, first);
        words.text.empty() || is_traceback(out))
      words = std::move(out);
  if (words.text.empty()) return;
  say(!first ? "The output of what failed first:"
             : fmt::format("rank {} failed first. {}", first->value,
                           words.shared ? "From the output of all ranks:" : "Its last output:"));
  const std::string plain = report::plain_text(words.text);
  terminal_.write_quote(std::string_view(plain).substr(0, plain.rfind('\n')));
}

void RunVoice::tell_of_survivors(const std::vector<launch::Survivor>& survivors) {
  for (const launch::Survivor& survivor : survivors) say(in_words(survivor));
}

void RunVoice::tell_of_swept(const std::vector<launch::Swept>& swept) {
  say(in_words(swept));
}

void RunVoice::tell_of_lost_logs(const std::vector<output::RecordingLoss>& losses) {
  for (const output::RecordingLoss& loss : losses)
    say(fmt::format("warning: {} is not complete: {}", loss.path.native(), loss.reason));
}

void RunVoice::tell_of_lost_output(Logs logs) {
  const output::LostOutput lost = terminal_.lost();
  if (lost.bytes == 0) return;
  const bool kept = logs == Logs::whole && !summary_.directory.empty();
  const std::string text = fmt::format(
      "{} bytes of the output were not {}{}", lost.bytes,
      lost.refusal.empty() ? "shown, because nothing read them" : "written: " + lost.refusal,
      kept ? "; they are in the logs: " + summary_.directory : "");
  lost.refused_job ? tell_error(text) : say("warning: " + text);
}

void RunVoice::tell_end() {
  if (plan_.options.json && plan::json_file(plan_.options).empty())
    return terminal_.write_redacted(report::outcome_json(summary_));
  if (!report::worth_telling(summary_) || plan_.options.verbosity == Verbosity::quiet) return;
  terminal_.write_message(from_us(report::closing_screen(summary_, report::Fallbacks::told)));
}

}  // namespace safelaunch::run
