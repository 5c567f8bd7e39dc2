#include "safelaunch/report/event_log.h"

#include <fcntl.h>

#include <nlohmann/json.hpp>

namespace safelaunch {
namespace {

using Json = nlohmann::ordered_json;

// What a job prints need not be UTF-8; a record must be.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

EventLog::EventLog(const std::filesystem::path& file, TimePoint begin)
    : fd_(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)),
      begin_(begin) {}

void EventLog::record(std::string_view event, Fields fields) {
  record(event, std::vector<Field>(fields));
}

void EventLog::record(std::string_view event, const std::vector<Field>& fields) {
  if (!fd_) return;
  Json line;
  line["t"] = std::chrono::duration<double>(Clock::now() - begin_).count();
  line["wall"] = wall_time_now();
  line["e"] = event;
  if (attempt_ != 0) line["attempt"] = attempt_;
  for (const auto& [name, value] : fields)
    std::visit([&, key = std::string(name)](const auto& held) { line[key] = held; }, value);
  const std::string text = dump(line) + "\n";
  if (write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) fd_.reset();
}

}  // namespace safelaunch
