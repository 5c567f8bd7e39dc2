#include "safelaunch/report/event_log.h"

#include "json_secrets.h"
#include "safelaunch/base/user_file.h"

namespace safelaunch {
namespace {

// What a job prints need not be UTF-8; a record must be.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

EventLog::EventLog(const std::filesystem::path& file, TimePoint begin, Redactor& redactor)
    : begin_(begin), redactor_(&redactor) {
  if (Result<UniqueFd> opened = open_to_append(file)) fd_ = std::move(*opened);
}

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
  Json said = Json::object();
  for (const auto& [name, value] : fields)
    std::visit([&, key = std::string(name)](const auto& held) { said[key] = held; }, value);
  learn_from(said, *redactor_);
  redact(said, *redactor_);
  line.update(said);
  const std::string text = dump(line) + "\n";
  if (write(fd_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) fd_.reset();
}

}  // namespace safelaunch
