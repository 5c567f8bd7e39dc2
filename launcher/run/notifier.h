#pragma once

#include <boost/asio/io_context.hpp>
#include <map>

#include "safelaunch/base/alarm.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/record.h"
#include "safelaunch/report/summary.h"
#include "safelaunch/settings/receiver.h"

namespace safelaunch::run {

/// What somebody is told who does not sit at the terminal (`--notify`, docs/notify.md).
struct Notice {
  std::string event;  ///< hung, stalled, moves, healed, failed, ended
  std::string text;   ///< what happened, in a sentence
  std::string profile{};
  std::string cause{};  ///< its id; empty where there is none
  std::string help{};
  std::vector<int> ranks{};           ///< the missing ranks, or the rank that failed first
  std::vector<std::string> places{};  ///< where they stand in the program
  int attempt = 0;
  std::optional<int> exit_status{};  ///< of safelaunch, at the end
};

/// The notice of an attempt that is over; nullopt where it did not hang: the end of the run, which
/// is a notice too, follows at once.
[[nodiscard]] std::optional<Notice> notice_of(const report::AttemptSummary& attempt);
[[nodiscard]] Notice notice_of(const report::record::Stall& stall, int attempt);
[[nodiscard]] Notice notice_of_end(const report::RunSummary& run);

/// The notice as one line of JSON, without secrets.
[[nodiscard]] std::string in_json(const Notice& notice, const report::RunSummary& run,
                                  const redact::Redactor& redactor);

/// Hands each notice to the user's command, or by curl to a webhook. One that takes longer than ten
/// seconds is killed.
class Notifier {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// `receivers` is the value of --notify; an empty one tells nobody. `say` is told of each
  /// receiver that fails, once.
  Notifier(boost::asio::io_context& io, launch::Reaper& reaper, const std::string& receivers,
           Environment environment, Say say);

  [[nodiscard]] bool tells() const { return !receivers_.empty(); }
  void tell(const std::string& line);
  /// Calls `done` once no command runs any more, within a second: the last ones are killed then.
  void finish(std::function<void()> done);

 private:
  struct Told {
    settings::Receiver receiver;
    bool complained = false;
  };

  void tell(Told& receiver, const std::string& line);
  void complain(Told& receiver, const std::string& why);
  void answered(Told& receiver, std::string_view answer);
  void ended(Told& receiver, int number, const launch::HelperEnd& end);

  boost::asio::io_context& io_;
  launch::Reaper& reaper_;
  std::vector<Told> receivers_;
  Environment environment_;
  Say say_;
  int started_ = 0;
  std::map<int, launch::Helper> running_;  ///< by the number of their start
  Alarm last_second_;
  std::function<void()> done_;
};

}  // namespace safelaunch::run
