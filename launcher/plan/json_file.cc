#include "safelaunch/plan/json_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
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
  const bool exists = std::filesystem::exists(file, none);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (access(exists ? file.c_str() : folder.c_str(), W_OK) != 0)
    return cannot(file, std::strerror(errno));
  return {};
}

Result<void> write_json(const std::filesystem::path& file, std::string_view json) {
  if (const Result<void> can = check_json_file(file); !can) return can;
  const UniqueFd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600));
  if (!fd) return cannot(file, std::strerror(errno));
  while (!json.empty()) {
    const ssize_t written = write(fd.get(), json.data(), json.size());
    if (written <= 0) return cannot(file, std::strerror(errno));
    json.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace safelaunch::plan
