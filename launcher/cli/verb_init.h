#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"

namespace safelaunch::cli {

/// The facts that `safelaunch init` finds on the machine, for the answers that it proposes.
struct InitFacts {
  std::vector<std::string> launchers;  ///< those in PATH: torchrun, deepspeed, accelerate
  int gpus = 0;
  std::vector<std::string> profiles;  ///< the names of all profiles
};

/// The answers, as they were typed and accepted.
struct InitAnswers {
  std::string launcher;   ///< torchrun | deepspeed | accelerate | safelaunch
  std::string processes;  ///< on this machine
  std::string chain;      ///< names with commas
  bool slow = true;       ///< may fall back to a profile of large cost
  std::string patience;   ///< for ranks that wait for an idle one
  std::string stall;      ///< how long training may stand still before it is reported; 0: for ever
};

/// One question. What it proposes holds where nothing is typed.
struct InitQuestion {
  std::string_view text;
  std::string_view hint;  ///< the answers there are
  std::string proposal;
  /// Puts an answer into the answers, or says what is wrong with it.
  std::function<Result<void>(const std::string& answer, InitAnswers& answers)> take;
};

/// The questions, in order.
[[nodiscard]] std::vector<InitQuestion> init_questions(const InitFacts& facts);

/// The answers of somebody who takes every proposal.
[[nodiscard]] InitAnswers proposed_answers(std::span<const InitQuestion> questions);

/// The line that starts a job with these answers.
[[nodiscard]] std::string start_line(const InitAnswers& answers);

/// The text of safelaunch.yaml, with comments.
[[nodiscard]] std::string config_text(const InitAnswers& answers);

}  // namespace safelaunch::cli
