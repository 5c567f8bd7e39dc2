#pragma once

#include <functional>
#include <optional>
#include <span>
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
  std::string processes;  ///< the number of processes on this machine
  std::string chain;      ///< the chain: names with commas
  bool slow = true;       ///< the job may fall back to a profile of large cost
  std::string patience;   ///< how long ranks wait for an idle one
  std::string stall;      ///< how long training may stand still before it is reported; 0: for ever
};

/// One question. Its proposal holds where nothing is typed.
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

/// Shows a question and takes what is typed; nullopt: the input has ended.
using TypeIn = std::function<std::optional<std::string>(const std::string& question)>;
/// Says why an answer was not taken.
using Complain = std::function<void(const std::string& why)>;

/// Asks one question after the other, each until its answer is taken. nullopt: the person wants
/// nothing written (q, or the end of the input).
[[nodiscard]] std::optional<InitAnswers> ask_all(std::span<const InitQuestion> questions,
                                                 const TypeIn& type_in, const Complain& complain);

/// The kind of file that stands where safelaunch.yaml would be written.
enum class InFile { nothing, text, something_else };

/// Error (usage): the file is there and stays as it is.
[[nodiscard]] Result<void> check_overwriting(const std::string& file, InFile there, bool force);

/// The line that starts a job with these answers.
[[nodiscard]] std::string start_line(const InitAnswers& answers);

/// The text of safelaunch.yaml, with comments.
[[nodiscard]] std::string config_text(const InitAnswers& answers);

}  // namespace safelaunch::cli
