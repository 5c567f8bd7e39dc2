#include "safelaunch/host/kernel_log.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/proc.h"

namespace safelaunch::host {
namespace {

Duration time_of_stamps() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC,
                  &now);  // the clock of the kernel's stamps: time asleep does not count
  return std::chrono::duration_cast<Duration>(std::chrono::seconds(now.tv_sec) +
                                              std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace

std::optional<KernelMessage> parse_kernel_message(std::string_view record, Duration uptime) {
  std::string_view head = take_word(record, ';');
  if (record.empty()) return std::nullopt;
  static_cast<void>(take_word(head, ','));  // priority
  static_cast<void>(take_word(head, ','));  // sequence number
  const std::chrono::microseconds stamp(number_in<std::int64_t>(take_word(head, ',')));
  const Duration age = uptime - std::chrono::duration_cast<Duration>(stamp);
  return KernelMessage{std::string(take_word(record, '\n')), std::max(Duration{}, age)};
}

std::vector<KernelMessage> kernel_messages_with(std::string_view part) {
  std::vector<KernelMessage> messages;
  const UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const Duration uptime = time_of_stamps();
  std::array<char, 8192> record;  // the kernel's own limit
  while (log) {
    const auto got = ::read(log.get(), record.data(), record.size());
    if (got < 0 && errno == EPIPE) continue;  // it was overwritten before we came to it
    if (got <= 0) break;
    const std::string_view text(record.data(), static_cast<std::size_t>(got));
    if (text.find(part) == std::string_view::npos) continue;
    if (auto message = parse_kernel_message(text, uptime)) messages.push_back(std::move(*message));
  }
  return messages;
}

}  // namespace safelaunch::host
