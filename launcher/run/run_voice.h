#pragma once

#include "attempt_record.h"
#include "safelaunch/output/terminal_writer.h"
#include "safelaunch/plan/next_step.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::run {

/// Whether the logs hold all that the job has written.
enum class Logs { whole, cut };

/// The status of a run whose job ends with `status`: a job that went well is no success where a
/// file or device did not take its output.
[[nodiscard]] int status_with(int status, const output::LostOutput& lost);

/// Tells the user on stderr what happens in a run, in the order in which it happens. A healthy run
/// says nothing.
class RunVoice {
 public:
  /// All of them belong to the run, and outlive this.
  RunVoice(const plan::RunPlan& plan, output::TerminalWriter& terminal,
           const report::RunSummary& summary)
      : plan_(plan), terminal_(terminal), summary_(summary) {}

  /// One line of ours; not with --quiet.
  void say(std::string_view text);
  /// As say, whatever --quiet: the run fails for it.
  void tell_error(std::string_view text);

  /// With --verbose: the profile and place with which an attempt begins. `port`: where its ranks
  /// meet, if it has one.
  void tell_of_start(int attempt, const std::string& profile, std::optional<int> port,
                     const std::string& record);
  /// The last attempt has failed, and another one follows.
  void tell_of_fallback(const plan::NextStep& step);
  /// With --verbose: the profiles that are passed over, and why.
  void tell_of_struck_out(const plan::NextStep& step);
  /// The user's own failure: launchers bury it under their own words. A stuck job is
  /// told as stuck, not as failed.
  void tell_of_first_failure(const AttemptRecord& record, const diagnose::Diagnosis& diagnosis);
  /// Processes that could not be ended.
  void tell_of_survivors(const std::vector<launch::Survivor>& survivors);
  /// Processes of a job that went well which were still running, and were ended.
  void tell_of_swept(const std::vector<launch::Swept>& swept);
  /// Logs that are not complete, though nobody has heard of it while the job ran.
  void tell_of_lost_logs(const std::vector<output::RecordingLoss>& losses);
  /// Training outlives whoever read its output and a disk that is full, but not without a word.
  void tell_of_lost_output(Logs logs);
  /// The closing screen, or --json's object.
  void tell_end();

 private:
  const plan::RunPlan& plan_;
  output::TerminalWriter& terminal_;
  const report::RunSummary& summary_;
};

}  // namespace safelaunch::run
