#include "safelaunch/plan/json_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

// --json=FILE may hit a file of the user's by a slip of the keyboard, a DeepSpeed configuration
// say. So a file is written over only if it is empty, or begins with the keys of an earlier report
// or plan. Whether it can be written is asked twice: before the job, which would else have run
// without its report, and when there is something to write.
namespace safelaunch::plan {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostOfReport = 16U << 20;

bool begins_with(const Json& json, std::initializer_list<std::string_view> keys) {
  const auto* object = json.get_ptr<const Json::object_t*>();
  return object != nullptr && object->size() >= keys.size() &&
         std::equal(keys.begin(), keys.end(), object->begin(),
                    [](std::string_view key, const auto& entry) { return entry.first == key; });
}

// Our own files are the closing report, as outcome_json() makes it, and the plan of plan_json().
bool holds_something_else(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  if (std::filesystem::file_size(file, error) == 0) return false;
  const Result<std::string> text = read_user_file(file, kMostOfReport);
  if (!text) return true;
  const Json json = parse_json<Json>(*text);
  return !begins_with(json, {"run", "command", "exit_status"}) &&
         !begins_with(json, {"command", "launcher"});
}

Error cannot(const std::filesystem::path& file, std::string_view why) {
  return Error{Errc::usage, fmt::format("--json={}: {}", file.native(), why)};
}

/// The descriptor of ours that a name stands for: 3 for /dev/fd/3.
std::optional<int> own_descriptor(std::string_view name) {
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"})
    if (name.starts_with(folder)) return to_number(name.substr(folder.size()));
  return std::nullopt;
}

bool can_write_to(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY) errno = EACCES;
  return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
}

/// Opens a FIFO only where somebody reads from it; a reader that is just starting has a moment.
UniqueFd open_if_read(const std::filesystem::path& file) {
  constexpr Duration kReaderStartsWithin{500};
  constexpr timespec kNap{0, 10'000'000};
  constexpr int kHow = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const TimePoint until = Clock::now() + kReaderStartsWithin;
  UniqueFd fd(::open(file.c_str(), kHow, 0600));
  while (!fd && errno == ENXIO && Clock::now() < until) {
    ::nanosleep(&kNap, nullptr);
    fd.reset(::open(file.c_str(), kHow, 0600));
  }
  if (fd) ::fcntl(fd.get(), F_SETFL, O_WRONLY);  // from here on it waits for a slow reader
  return fd;
}

/// A descriptor of ours is not opened anew: its file may be another user's, as behind sudo.
UniqueFd open_to_write(const std::filesystem::path& file) {
  if (const auto descriptor = own_descriptor(file.native()))
    return UniqueFd(::fcntl(*descriptor, F_DUPFD_CLOEXEC, 0));
  return open_if_read(file);
}

}  // namespace

std::filesystem::path json_file(const settings::RunOptions& options) {
  const auto given = options.given.find("json");
  if (given == options.given.end()) return {};
  const bool is_word = !settings::refuse_value(settings::Option{}, given->second.value);
  return is_word ? "" : given->second.value;
}

Result<void> check_json_file(const std::filesystem::path& file) {
  if (file.empty()) return {};
  std::error_code none;
  if (std::filesystem::is_directory(file, none)) return cannot(file, std::strerror(EISDIR));
  if (holds_something_else(file))
    return cannot(file, "exists and is no safelaunch report; it was left as it is");
  if (const auto descriptor = own_descriptor(file.native()))
    return can_write_to(*descriptor) ? Result<void>() : cannot(file, std::strerror(errno));
  const bool exists = std::filesystem::exists(file, none);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (access(exists ? file.c_str() : folder.c_str(), W_OK) != 0)
    return cannot(file, std::strerror(errno));
  return {};
}

Result<void> write_json(const std::filesystem::path& file, std::string_view json) {
  if (const Result<void> can = check_json_file(file); !can) return can;
  const UniqueFd fd = open_to_write(file);
  if (!fd && errno == ENXIO) return cannot(file, "nothing reads from it");
  if (!fd || !write_whole(fd.get(), json)) return cannot(file, std::strerror(errno));
  return {};
}

}  // namespace safelaunch::plan
