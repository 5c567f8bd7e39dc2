#include "safelaunch/report/event_log.h"

#include <unistd.h>

#include <atomic>
#include <utility>

#include "json.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

// An event becomes one line, which is redacted before it is written; the redactor learns its
// secrets, and hides them in all later lines too. A line that the disk refuses ends the record, and
// a line for which the queue has no room is counted and told later.
namespace safelaunch::report {
namespace {

// Output of a job need not be UTF-8, but the record must be: other bytes become U+FFFD.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

constexpr std::int64_t kMostOfAName = 100;

}  // namespace

/// The open file. One thread writes it, another asks whether it has failed.
struct EventLog::File {
  explicit File(const std::filesystem::path& path) {
    Result<UniqueFd> opened = open_to_append(path);
    opened ? void(fd = std::move(*opened)) : void(failed = true);
  }

  void write(const std::string& line) {
    if (failed) return;
    const ssize_t size = ::write(fd.get(), line.data(), line.size());
    if (size != static_cast<ssize_t>(line.size())) failed = true;
  }

  UniqueFd fd;
  std::atomic<bool> failed = false;
};

EventLog::EventLog(const std::filesystem::path& file, TimePoint begin, redact::Redactor& redactor,
                   DiskQueue* disk)
    : file_(std::make_shared<File>(file)), disk_(disk), begin_(begin), redactor_(&redactor) {}

bool EventLog::ok() const {
  return file_ && !file_->failed;
}

void EventLog::record(const record::Event& event) {
  tell(event);
  if (!ok()) return;
  Json line;
  line["t"] = std::chrono::duration<double>(Clock::now() - begin_).count();
  line["wall"] = wall_time_now();
  line["e"] = name(event);
  if (attempt_ != 0) line["attempt"] = attempt_;
  Json said = Json::object();
  std::visit(
      [&](const auto& one) {
        one.fields(one, [&](const char* key, const auto& member) { said[key] = member; });
      },
      event);
  learn_from(said, *redactor_);
  redact(said, *redactor_);
  line.update(said);
  write(dump(line) + "\n");
}

void EventLog::record_some(const record::Event& event) {
  if (++made_[name(event)] <= kMostOfAName) record(event);
}

void EventLog::count_the_rest() {
  for (const auto& [event, count] : std::exchange(made_, {}))
    if (count > kMostOfAName) record(record::Unrecorded{event, count - kMostOfAName});
}

void EventLog::write(std::string line) {
  if (disk_ == nullptr) return file_->write(line);
  if (untold_ > 0 && disk_->has_room())
    record(record::Unrecorded{"", static_cast<std::int64_t>(std::exchange(untold_, 0))});
  const std::size_t size = line.size();
  if (disk_->post(size, [file = file_, text = std::move(line)] { file->write(text); })) return;
  ++untold_;
  ++lost_;
}

}  // namespace safelaunch::report
