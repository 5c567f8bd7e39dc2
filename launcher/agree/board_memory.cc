#include "board_memory.h"

#include <time.h>
#include <unistd.h>

#include "mac.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/host/identity.h"

// The mark holds the time since the boot, by a clock that no person sets and that runs on in
// sleep. A mark of another boot, or of a later time than now, tells nothing: no lease outlives
// its machine.
namespace safelaunch::agree {
namespace {

constexpr Duration kWritesWithin{1'000};

/// Any text as a file's name. A job's name may hold slashes, and be of any length.
std::string file_name(std::string_view job) {
  return to_hex(bytes_of(hmac("board", {job}))).substr(0, 32);
}

}  // namespace

std::string to_text(const Remembered& remembered) {
  return fmt::format("{} {} {}\n", remembered.boot_id, remembered.lived.count(),
                     remembered.generation);
}

std::optional<Remembered> remembered_from(std::string_view text) {
  text = trimmed(text);
  const std::string_view boot = take_word(text);
  const auto lived = to_number<std::int64_t>(take_word(text));
  const auto generation = to_number<std::uint64_t>(text);
  if (boot.empty() || !lived || *lived < 0 || !generation) return std::nullopt;
  return Remembered{std::string(boot), Duration(*lived), *generation};
}

std::optional<Duration> left_of_leases(const Remembered& earlier, const Remembered& now,
                                       Duration told_every, Duration lease) {
  if (earlier.boot_id != now.boot_id || earlier.lived > now.lived) return std::nullopt;
  const Duration left = earlier.lived + told_every + lease - now.lived;
  return left > Duration::zero() ? std::optional(left) : std::nullopt;
}

BoardMemory::BoardMemory(const std::string& folder, std::string_view job)
    : path_(folder.empty() ? folder : folder + "/" + file_name(job)) {}

BoardMemory::~BoardMemory() {
  (void)disk_.drain(kWritesWithin);  // the thread is left to finish the rest
}

std::optional<Remembered> BoardMemory::earlier() const {
  if (path_.empty()) return std::nullopt;
  const auto text = user_file_text(path_);
  return text ? remembered_from(*text) : std::nullopt;
}

// A board that cannot write is a board without a memory: the job goes on.
void BoardMemory::write(const Remembered& now) {
  if (path_.empty()) return;
  (void)disk_.post(0,
                   [path = path_, text = to_text(now)] { (void)replace_lasting_file(path, text); });
}

void BoardMemory::forget() {
  if (path_.empty()) return;
  (void)disk_.post(0, [path = path_] { ::unlink(path.c_str()); });
}

Remembered remembered_now(std::uint64_t generation) {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return {host::read_boot_id(),
          std::chrono::duration_cast<Duration>(std::chrono::seconds(now.tv_sec) +
                                               std::chrono::nanoseconds(now.tv_nsec)),
          generation};
}

}  // namespace safelaunch::agree
