#include "safelaunch/job/launcher_report.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "safelaunch/base/strings.h"

// The last report in the text counts, since each restart writes one more. torchrun's block is the
// best source, then its line of the moment; deepspeed and accelerate tell the status alone. A
// report without the number that matters is none.
namespace safelaunch::job {
namespace {

/// Python's way to write a status: a code, or minus the signal.
ExitStatus status_from_python(int code) {
  if (code < 0) return Signaled{-code, false};
  return Exited{code};
}

/// The number at the begin of a text, behind blanks.
std::optional<int> leading_int(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return take_number(text);
}

/// The text behind the last `mark`; empty where there is no mark.
std::string_view after_last(std::string_view text, std::string_view mark) {
  const std::size_t at = text.rfind(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

std::string_view after_first(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + mark.size());
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find('\n'));
}

/// The last line that is not blank.
std::string_view last_line(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

/// The value of `key       : value` in torchrun's block.
std::string_view field(std::string_view block, std::string_view key) {
  for (std::string_view rest = block; !(rest = after_first(rest, key)).empty();) {
    const std::size_t colon = std::min(rest.find_first_not_of(' '), rest.size());
    if (rest.substr(colon).starts_with(": ")) return first_line(rest.substr(colon + 2));
  }
  return {};
}

/// The block that torchrun prints last:
///   Root Cause (first observed failure):
///   [0]:
///     rank      : 3 (local_rank: 3)
///     exitcode  : -9 (pid: 71)  (SIGKILL)
std::optional<LauncherFailure> read_root_cause(std::string_view text) {
  const std::string_view block = after_last(text, "Root Cause (first observed failure):");
  const std::string_view exit = field(block, "exitcode");
  const auto code = leading_int(exit);
  if (!code) return std::nullopt;
  LauncherFailure failure;
  failure.status = status_from_python(*code);
  failure.pid = leading_int(after_first(exit, "pid:"));
  const std::string_view rank = field(block, "rank");
  if (const auto number = leading_int(rank)) failure.rank = Rank{*number};
  failure.local_rank = leading_int(after_first(rank, "local_rank:"));
  if (const std::string_view file = field(block, "error_file"); file != "<N/A>")
    failure.error_file = file;
  failure.last_words = last_line(block).starts_with("=====");
  return failure;
}

/// `failed (exitcode: -9) local_rank: 1 (pid: 71) of binary: …`, one line for each restart: all
/// that there is while torchrun is still stopping the others.
std::optional<LauncherFailure> read_failed_line(std::string_view text) {
  const std::string_view line = first_line(after_last(text, "failed (exitcode:"));
  const auto code = leading_int(line);
  if (!code) return std::nullopt;
  LauncherFailure failure;
  failure.status = status_from_python(*code);
  failure.local_rank = leading_int(after_first(line, "local_rank:"));
  failure.pid = leading_int(after_first(line, "(pid:"));
  return failure;
}

/// `[…] exits with return code = -11`. The command before it is the last one that was started, not
/// the one that failed: deepspeed never says which rank it was. The processes that it has started
/// and now ends stand above.
std::optional<LauncherFailure> read_deepspeed_failure(std::string_view text) {
  const std::string_view rest = after_last(text, "exits with return code =");
  const auto code = leading_int(rest);
  if (!code) return std::nullopt;
  LauncherFailure failure;
  failure.status = status_from_python(*code);
  const std::string_view above = text.substr(0, text.size() - rest.size());
  failure.pid = leading_int(after_last(above, "sigkill_handler] Killing subprocess"));
  failure.last_words = last_line(rest) == first_line(rest);
  return failure;
}

/// accelerate around one process: `CalledProcessError: Command '[…]' returned non-zero exit status
/// 3.` or `… died with <Signals.SIGSEGV: 11>.`
std::optional<LauncherFailure> read_called_process(std::string_view text) {
  const std::string_view rest = after_last(text, "CalledProcessError: Command ");
  const std::string_view line = first_line(rest);
  LauncherFailure failure;
  failure.last_words = last_line(rest) == line;
  if (const auto code = leading_int(after_first(line, "returned non-zero exit status")))
    failure.status = Exited{*code};
  else if (const auto signal =
               leading_int(after_first(after_first(line, "died with <Signals"), ":")))
    failure.status = Signaled{*signal, false};
  else
    return std::nullopt;
  return failure;
}

std::optional<int> signal_number(std::string_view name) {
  for (int signal = 1; signal < NSIG; ++signal)
    if (signal_name(signal) == name) return signal;
  return std::nullopt;
}

/// torch.multiprocessing.spawn: the index is the rank in all but odd scripts, so it is given as the
/// local rank.
std::optional<LauncherFailure> read_spawn_failure(std::string_view text) {
  LauncherFailure failure;
  const std::string_view raised = after_last(text, "-- Process ");
  if (raised.find("terminated with the following error:") < raised.find('\n')) {
    failure.local_rank = leading_int(raised);
    failure.status = Exited{1};
    return failure.local_rank ? std::optional(failure) : std::nullopt;
  }
  const std::string_view line = first_line(after_last(text, "Exception: process "));
  failure.local_rank = leading_int(line);
  if (const auto code = leading_int(after_first(line, "terminated with exit code")))
    failure.status = Exited{*code};
  else if (const auto signal = signal_number(after_first(line, "terminated with signal ")))
    failure.status = Signaled{*signal, false};
  return failure.local_rank ? std::optional(failure) : std::nullopt;
}

using Reader = std::optional<LauncherFailure> (*)(std::string_view text);

// The best source first.
std::vector<Reader> readers_of(Launcher launcher) {
  switch (launcher) {
    case Launcher::torchrun: return {read_root_cause, read_failed_line};
    case Launcher::deepspeed: return {read_deepspeed_failure};
    case Launcher::python: return {read_spawn_failure};
    case Launcher::accelerate:
      return {read_root_cause, read_failed_line, read_deepspeed_failure, read_called_process};
    case Launcher::opaque:
      return {read_root_cause, read_failed_line, read_deepspeed_failure, read_spawn_failure};
  }
  return {};
}

// The signals by which ranks die. A code near 256 that means none of these is the script's own:
// sys.exit(-1) is 255.
constexpr std::array kDeadlySignals = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM};

/// deepspeed ends with sys.exit(-11), which the kernel cuts to 245.
ExitStatus unwrapped_code(const ExitStatus& status) {
  const Exited* exited = std::get_if<Exited>(&status);
  if (exited == nullptr) return status;
  const int signal = 256 - exited->code;
  const bool deadly = std::ranges::find(kDeadlySignals, signal) != kDeadlySignals.end();
  return deadly ? ExitStatus{Signaled{signal, false}} : status;
}

}  // namespace

std::vector<LauncherFailure> read_launcher_failures(Launcher launcher, std::string_view text) {
  std::vector<LauncherFailure> failures;
  for (const Reader read : readers_of(launcher))
    if (auto failure = read(text)) failures.push_back(*std::move(failure));
  return failures;
}

std::optional<LauncherFailure> read_launcher_failure(Launcher launcher, std::string_view text) {
  std::vector<LauncherFailure> failures = read_launcher_failures(launcher, text);
  return failures.empty() ? std::nullopt : std::optional(std::move(failures.front()));
}

std::set<int> told_to_end(std::string_view text) {
  constexpr std::string_view kSending = "Sending process ";
  std::set<int> pids;
  for (std::string_view rest = after_first(text, kSending); !rest.empty();
       rest = after_first(rest, kSending)) {
    std::string_view line = first_line(rest);
    const auto pid = take_number(line);
    if (pid && line.starts_with(" closing signal ")) pids.insert(*pid);
  }
  return pids;
}

std::optional<Rank> rank_of(Launcher launcher, const LauncherFailure& failure) {
  if (failure.rank || launcher != Launcher::python || !failure.local_rank) return failure.rank;
  return Rank{*failure.local_rank};
}

bool hides_statuses(Launcher launcher) {
  switch (launcher) {
    case Launcher::torchrun:
    case Launcher::deepspeed:
    case Launcher::accelerate: return true;
    case Launcher::python:
    case Launcher::opaque: return false;
  }
  return false;
}

bool may_hide(Launcher launcher, const ExitStatus& status, const LauncherFailure& failure) {
  if (!failure.status || !hides_statuses(launcher)) return false;
  if (launcher != Launcher::deepspeed) return status == ExitStatus{Exited{1}};
  return status == *failure.status || unwrapped_code(status) == *failure.status;
}

ExitStatus unhide(Launcher launcher, const ExitStatus& status,
                  const std::optional<LauncherFailure>& failure) {
  if (succeeded(status)) return status;
  if (failure && failure->status) return *failure->status;
  return launcher == Launcher::deepspeed ? unwrapped_code(status) : status;
}

}  // namespace safelaunch::job
