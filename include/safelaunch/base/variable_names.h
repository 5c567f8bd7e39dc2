#pragma once

#include <string_view>

/// The names of the variables that safelaunch puts into a job's environment. The hook reads them in
/// Python (launcher/hook/_safelaunch_hook); NCCL's plugin includes this header, which therefore
/// needs nothing of ours. Each name ends with a null character, as getenv(3) wants it.
namespace safelaunch {

/// The mark of every process of a job.
inline constexpr std::string_view kRunIdVariable = "SAFELAUNCH_RUN_ID";
inline constexpr std::string_view kAttemptVariable = "SAFELAUNCH_ATTEMPT";
inline constexpr std::string_view kOwnerVariable = "SAFELAUNCH_OWNER";

/// A script that is the command, and how often safelaunch has started it below itself
/// (plan/wrapper.h).
inline constexpr std::string_view kEnteredVariable = "SAFELAUNCH_ENTERED";

/// A process with this setting in its environment asks to live on when its job ends: an upload, a
/// tmux server, an ssh-agent. Neither half of safelaunch ends it, nor does a later clean.
/// safelaunch does not hand the variable on to a job, which would keep itself as a whole.
inline constexpr std::string_view kKeepVariable = "SAFELAUNCH_KEEP";
inline constexpr std::string_view kKeepSetting = "SAFELAUNCH_KEEP=1";

/// The socket to which hook and plugin report, and the word that proves that they are of this job.
inline constexpr std::string_view kHookVariable = "SAFELAUNCH_HOOK";
inline constexpr std::string_view kHookTokenVariable = "SAFELAUNCH_HOOK_TOKEN";

/// What a profile wants of the hook.
inline constexpr std::string_view kBackendVariable = "SAFELAUNCH_BACKEND";
inline constexpr std::string_view kGroupTimeoutVariable = "SAFELAUNCH_PG_TIMEOUT";
inline constexpr std::string_view kVerifyVariable = "SAFELAUNCH_VERIFY";
inline constexpr std::string_view kFaulthandlerVariable = "SAFELAUNCH_FAULTHANDLER";

}  // namespace safelaunch
