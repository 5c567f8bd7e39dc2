// What launchers tell of the rank that failed first.
#include <csignal>
#include <string>

#include "number_after.h"
#include "safelaunch/diagnose/first_failure.h"

namespace safelaunch {
namespace {

/// The same behind the last `words`: launchers sum up at the end.
std::optional<int> number_after_last(std::string_view text, std::string_view words) {
  const std::size_t at = text.rfind(words);
  return at == std::string_view::npos ? std::nullopt : number_after(text.substr(at), words);
}

/// Python's way to write a status: a signal is a negative number.
ExitStatus from_python(int code) {
  if (code < 0) return Signaled{-code};
  return Exited{code};
}

std::optional<ReportedExit> from_torchrun(std::string_view text) {
  const std::size_t block = text.rfind("Root Cause (first observed failure):");
  if (block == std::string_view::npos) return std::nullopt;
  text.remove_prefix(block);
  text = text.substr(0, text.find("===="));
  const auto code = number_after(text, "exitcode  : ");
  const auto rank = number_after(text, "rank      : ");
  if (!code || !rank) return std::nullopt;
  return ReportedExit{Rank{*rank}, from_python(*code)};
}

std::optional<int> signal_named(std::string_view name) {
  for (int number = 1; number < NSIG; ++number)
    if (name == signal_name(number)) return number;
  return std::nullopt;
}

/// "process 1 terminated with exit code 3", "process 0 terminated with signal SIGKILL",
/// "-- Process 1 terminated with the following error:"
std::optional<ReportedExit> from_spawn(std::string_view text) {
  if (const auto rank = number_after_last(text, "\n-- Process "))
    return ReportedExit{Rank{*rank}, Exited{1}};
  const std::size_t at = text.rfind("ProcessExitedException: process ");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at);
  text = text.substr(0, text.find('\n'));
  const auto rank = number_after(text, "process ");
  if (!rank) return std::nullopt;
  if (const auto code = number_after(text, "exit code "))
    return ReportedExit{Rank{*rank}, Exited{*code}};
  const std::size_t name = text.rfind(' ') + 1;
  const auto signal = signal_named(text.substr(name));
  return signal ? std::optional(ReportedExit{Rank{*rank}, Signaled{*signal}}) : std::nullopt;
}

/// DeepSpeed, accelerate, and torchrun's agent where its summary is cut off.
std::optional<ReportedExit> from_others(std::string_view text) {
  for (const std::string_view words :
       {"exits with return code = ", "non-zero exit status ", "failed (exitcode: "})
    if (const auto code = number_after_last(text, words))
      return ReportedExit{std::nullopt, from_python(*code)};
  return std::nullopt;
}

}  // namespace

std::optional<ReportedExit> reported_exit(std::string_view text) {
  for (const auto read : {from_torchrun, from_spawn, from_others})
    if (const auto reported = read(text)) return reported;
  return std::nullopt;
}

}  // namespace safelaunch
