#pragma once

#include <boost/system/result.hpp>
#include <string>

namespace safelaunch {

/// The kinds of trouble that end a run of safelaunch itself (not of the job). Each maps to one
/// exit status in `exit_code_of`; the table is also in the README.
enum class Errc {
  usage,           ///< the command line is wrong (64)
  bad_config,      ///< a profile or configuration file is wrong (78)
  not_found,       ///< the command does not exist (127)
  not_executable,  ///< the command exists but cannot be executed (126)
  blocked,         ///< a finding stops the run: somebody else holds the port or the GPU (75)
  peer_lost,       ///< a peer, the rendezvous or a driver cannot be reached (69)
  not_written,     ///< an answer or the job's output cannot be written: the disk is full (74)
  os,              ///< the operating system refused something we need (125)
};

/// Why something could not be done. The message says what was tried, on what, and what to do next
/// where we know it; it is shown to the user as it stands.
struct Error {
  Errc code = Errc::os;
  std::string message;
};

/// A value, or the reason why there is none. Used for what can fail in a healthy program; events of
/// the job (a worker that dies, a timeout, a signal) are data, not errors.
template <class T = void>
using Result = boost::system::result<T, Error>;

/// Makes `Result::value()` throw a std::runtime_error that carries the message.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

/// The status with which safelaunch exits for an error of its own.
[[nodiscard]] int exit_code_of(Errc code);

/// The status for a job or a probe that hung, as timeout(1) has it.
inline constexpr int kHungStatus = 124;

/// The status after Ctrl-C, as a shell tells it (128 + SIGINT).
inline constexpr int kInterruptedStatus = 130;

}  // namespace safelaunch
