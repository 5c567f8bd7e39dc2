#include "other_user.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "safelaunch/base/format.h"

namespace safelaunch::run {
namespace {

constexpr std::array<std::string_view, 9> kChangers{
    "gosu", "su-exec", "setpriv", "su", "sudo", "runuser", "setuidgid", "s6-setuidgid", "chpst"};

}  // namespace

std::string changes_user(std::span<const std::string> command, unsigned our_uid) {
  if (our_uid != 0 || command.empty()) return {};
  const std::string name = command.front().substr(command.front().rfind('/') + 1);
  return std::ranges::find(kChangers, name) == kChangers.end() ? std::string() : name;
}

std::string runs_as_another_user(Rank rank, const host::ProcessFacts& process) {
  return fmt::format(
      "rank {} (pid {}) runs as another user (uid {}), who can use neither safelaunch's hook nor "
      "NCCL's log: ranks are watched from /proc alone, and NCCL, where it is used, writes INFO "
      "into the job's output; "
      "start safelaunch as that user",
      rank.value, process.id.pid, process.uid);
}

}  // namespace safelaunch::run
