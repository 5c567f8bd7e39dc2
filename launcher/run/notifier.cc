#include "notifier.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/host/identity.h"
#include "webhook.h"

// A notice is made of the record's own words. The command runs as a helper of ours beside the job,
// so a receiver that never answers holds up neither the job nor its end.
namespace safelaunch::run {
namespace {

constexpr Duration kReceiverTakes{10'000};
constexpr Duration kLastSecond{1'000};

std::vector<int> ranks_to_name(const Failure& failure) {
  std::vector<int> ranks;
  const bool names_missing = is_stuck(failure.kind) && !failure.missing.empty();
  if (failure.first && !names_missing) return {failure.first->value};
  for (const MissingRank& missing : failure.missing) ranks.push_back(missing.rank.value);
  return ranks;
}

Notice notice_about(const report::AttemptSummary& attempt, std::string event) {
  const Failure& failure = *attempt.failure;
  const std::string more = failure.details.empty() ? failure.explanation : failure.details;
  return {.event = std::move(event),
          .text = report::headline(failure) + (more.empty() ? "" : ". " + more),
          .profile = attempt.profile,
          .cause = failure.cause,
          .help = failure.remedy,
          .ranks = ranks_to_name(failure),
          .places = failure.places,
          .attempt = attempt.number};
}

}  // namespace

std::optional<Notice> notice_of(const report::AttemptSummary& attempt) {
  if (attempt.failure && attempt.resumes) {
    Notice notice = notice_about(attempt, "restarted");
    notice.text += " Next: " + attempt.next;
    return notice;
  }
  if (!attempt.failure || !is_hang(attempt.failure->kind)) return std::nullopt;
  return notice_about(attempt, "hung");
}

Notice notice_of(const report::record::Stall& stall, int attempt) {
  const bool over = stall.phase == report::record::Stall::kOver;
  return {.event = over ? "moves" : "stalled",
          .text = in_words(stall),
          .ranks = stall.ranks,
          .places = stall.places,
          .attempt = attempt};
}

Notice notice_of_end(const report::RunSummary& run) {
  Notice notice{.event = "ended", .text = "the job has ended well"};
  if (!run.attempts.empty()) {
    const report::AttemptSummary& last = run.attempts.back();
    if (last.failure) {
      notice = notice_about(last, "failed");
      if (notice.text.empty()) notice.text = run.stopped_because;  // a signal ended it
    } else if (run.attempts.size() > 1) {
      notice = {.event = "healed", .text = "the job has ended well with " + last.profile};
    }
    notice.profile = last.profile;
    notice.attempt = last.number;
  } else if (run.exit_code != 0) {
    notice = {.event = "failed", .text = run.stopped_because};
  }
  notice.exit_status = run.exit_code;
  return notice;
}

std::string in_json(const Notice& notice, const report::RunSummary& run,
                    const redact::Redactor& redactor) {
  nlohmann::ordered_json json{{"event", notice.event}, {"text", notice.text}};
  const auto add = [&json](const char* key, const auto& value) {
    if (!value.empty()) json[key] = value;
  };
  add("cause", notice.cause);
  add("help", notice.help);
  add("ranks", notice.ranks);
  add("places", notice.places);
  add("profile", notice.profile);
  if (notice.attempt > 0) json["attempt"] = notice.attempt;
  if (notice.exit_status) json["exit_status"] = *notice.exit_status;
  json["run"] = run.run_id;
  json["host"] = host::read_identity().hostname;
  json["command"] = run.command;
  add("record", run.directory);
  json["time"] = wall_time_now();
  return redactor.redact(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

Notifier::Notifier(boost::asio::io_context& io, launch::Reaper& reaper,
                   const std::string& receivers, Environment environment, Say say)
    : io_(io),
      reaper_(reaper),
      environment_(std::move(environment)),
      say_(std::move(say)),
      last_second_(io) {
  if (!receivers.empty())
    for (settings::Receiver& one : settings::parse_receivers(receivers).value())
      receivers_.push_back({std::move(one)});
  // The end of an attempt ends everything below us that does not ask to be kept.
  environment_[std::string(kKeepVariable)] = "1";
}

void Notifier::tell(const std::string& line) {
  for (Told& receiver : receivers_) tell(receiver, line);
}

void Notifier::tell(Told& to, const std::string& line) {
  const int number = ++started_;
  auto started = launch::Helper::start(
      io_, reaper_, {command_for(to.receiver), environment_, kReceiverTakes},
      [this, &to](std::string_view answer) { answered(to, answer); },
      [this, &to, number](const launch::HelperEnd& end) { ended(to, number, end); });
  if (!started) return complain(to, started.error().message);
  started->write_line(input_for(to.receiver, line));
  started->close_input();
  running_.emplace(number, std::move(*started));
}

void Notifier::complain(Told& receiver, const std::string& why) {
  if (std::exchange(receiver.complained, true)) return;
  const auto number = &receiver - receivers_.data() + 1;
  const std::string which = receivers_.size() > 1 ? fmt::format(", receiver {}", number) : "";
  say_(fmt::format("warning: --notify{}: {}", which, why));
}

void Notifier::answered(Told& to, std::string_view answer) {
  if (to.receiver.form == settings::Receiver::Form::command) return;
  if (const auto refusal = refusal_in(answer))
    complain(to, "the chat did not take the news: " + *refusal);
}

void Notifier::ended(Told& receiver, int number, const launch::HelperEnd& end) {
  const bool well = end.status && succeeded(*end.status);
  if (!well) complain(receiver, "the command did not take the news: " + describe(end));
  running_.erase(number);
  if (running_.empty() && done_) std::exchange(done_, nullptr)();
}

void Notifier::finish(std::function<void()> done) {
  if (running_.empty()) return done();
  done_ = std::move(done);
  last_second_.set_after(kLastSecond, [this] {
    if (!done_) return;
    say_("warning: --notify: the command takes too long for the last news");
    std::exchange(done_, nullptr)();
  });
}

}  // namespace safelaunch::run
