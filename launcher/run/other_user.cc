#include "safelaunch/run/other_user.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace safelaunch {
namespace {

constexpr std::array<std::string_view, 9> kChangers{
    "gosu", "su-exec", "setpriv", "su", "sudo", "runuser", "setuidgid", "s6-setuidgid", "chpst"};

}  // namespace

std::string changes_user(std::span<const std::string> command, unsigned our_uid) {
  if (our_uid != 0 || command.empty()) return {};
  const std::string name = command.front().substr(command.front().rfind('/') + 1);
  return std::ranges::find(kChangers, name) == kChangers.end() ? std::string() : name;
}

}  // namespace safelaunch
