#include "notice.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "codec.h"
#include "mac.h"
#include "records.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

// A notice is written under another name, synced, and linked to its own: link(2) never replaces.
// What then stands there decides who has put it, since a server that was asked twice says that the
// name was taken. Newer notices are there before older ones go, so a look that misses one sees the
// other.
namespace safelaunch::agree {
namespace {

constexpr std::string_view kNoticeVersion = "safelaunch notice 1";
constexpr std::size_t kMostOfNotice = 4096;
constexpr std::uint32_t kMostEndpoints = 64;

std::string body_of(const Notice& notice) {
  Writer writer;
  writer.text(kNoticeVersion).text(notice.id);
  writer.number(static_cast<std::uint32_t>(notice.endpoints.size()));
  for (const std::string& endpoint : notice.endpoints) writer.text(endpoint);
  return writer.take();
}

std::optional<Notice> notice_from(std::string_view body) {
  Reader reader(body);
  if (reader.text() != kNoticeVersion) return std::nullopt;
  Notice notice{reader.text(), {}};
  const auto count = std::min(reader.number<std::uint32_t>(), kMostEndpoints);
  for (std::uint32_t i = 0; i < count; ++i) notice.endpoints.push_back(reader.text());
  return reader.whole() && count > 0 ? std::optional(notice) : std::nullopt;
}

/// Trouble that may go by.
Error trouble(const std::string& path) {
  return Error{Errc::peer_lost, fmt::format("cannot be found: {}: {}", path, strerror(errno))};
}

Error distrusted(const std::string& path, const std::string& why) {
  return Error{Errc::bad_config,
               fmt::format("{}: {}; name a folder that only you can write to", path, why)};
}

bool write_new(const std::string& path, std::string_view text) {
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file && write_whole(file.get(), text) && ::fsync(file.get()) == 0;
}

}  // namespace

NoticeFolder::NoticeFolder(std::string folder, std::string_view job, std::string_view token)
    : folder_(std::move(folder)),
      name_("safelaunch-" + plain_job_name(job)),
      key_(bytes_of(hmac(token, {"safelaunch notice"}))) {}

std::string NoticeFolder::name_of(std::uint64_t number) const {
  return fmt::format("{}.{}", name_, number);
}

/// Makes the folder where it is missing. It is judged before, so that nothing of ours is left where
/// the run is refused: waiting does not mend a folder into which strangers may write.
Result<void> NoticeFolder::prepare() const {
  struct stat facts {};
  if (::stat(folder_.c_str(), &facts) == 0) {
    if (!S_ISDIR(facts.st_mode))
      return Error{Errc::bad_config,
                   fmt::format("--rendezvous file://{}: this is no folder; name a "
                               "folder of your own that all nodes share",
                               folder_)};
    const auto why = distrust_place(folder_);
    return why ? distrusted(folder_, *why) : Result<void>();
  }
  const std::string above = folder_.substr(0, std::max<std::size_t>(folder_.rfind('/'), 1));
  if (const auto why = distrust_place(above); why && ::access(above.c_str(), F_OK) == 0)
    return distrusted(folder_, *why);
  if (::mkdir(folder_.c_str(), 0700) == 0 || errno == EEXIST) return {};
  const std::string why = fmt::format("--rendezvous file://{}: {}", folder_, strerror(errno));
  if (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != EROFS)
    return trouble(folder_);
  return Error{Errc::bad_config, why + "; give a folder of your own that all nodes share"};
}

/// In their order.
Result<std::vector<std::uint64_t>> NoticeFolder::numbers() const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(folder_.c_str()), &::closedir);
  if (!folder) return trouble(folder_);
  std::vector<std::uint64_t> numbers;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    const auto number = to_number<std::uint64_t>(name.substr(name.rfind('.') + 1));
    if (number && name == name_of(*number)) numbers.push_back(*number);
  }
  if (errno != 0) return trouble(folder_);
  std::ranges::sort(numbers);
  return numbers;
}

/// Whether a notice of ours may be at this path.
Result<void> NoticeFolder::judge(const std::string& path) const {
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0) return trouble(path);
  const char* kind = S_ISLNK(facts.st_mode)    ? "a link"
                     : S_ISFIFO(facts.st_mode) ? "a FIFO"
                     : S_ISDIR(facts.st_mode)  ? "a folder"
                                               : "a device";
  if (!S_ISREG(facts.st_mode))
    return Error{Errc::bad_config,
                 fmt::format("{} is {} of uid {}, and no file; remove it, or name another folder",
                             path, kind, facts.st_uid)};
  const auto why = distrust_path(path);
  return why ? distrusted(path, *why) : Result<void>();
}

Result<std::optional<Notice>> NoticeFolder::read(std::uint64_t number) const {
  const std::string path = path_of(name_of(number));
  if (Result<void> judged = judge(path); !judged) return judged.error();
  const Result<std::string> text = read_user_file(path, kMostOfNotice, Links::refused);
  if (!text) return Error{Errc::peer_lost, "cannot be found: " + text.error().message};
  const auto body = unsealed(key_, name_of(number), *text);
  auto notice = body ? notice_from(*body) : std::nullopt;
  if (!notice)
    return Error{Errc::bad_config,
                 fmt::format("the agents that meet in {} have another token; copy "
                             "theirs, or remove {} if no such job runs",
                             folder_, path)};
  notice->number = number;
  return notice;
}

Result<std::optional<Notice>> NoticeFolder::newest() const {
  if (Result<void> ready = prepare(); !ready) return ready.error();
  const Result<std::vector<std::uint64_t>> there = numbers();
  if (!there) return there.error();
  return there->empty() ? std::optional<Notice>() : read(there->back());
}

Result<void> NoticeFolder::add(const Notice& notice) const {
  const std::string name = name_of(notice.number);
  const std::string unfinished = path_of(".new-" + random_id());
  const bool written = write_new(unfinished, sealed(key_, name, body_of(notice)));
  const bool linked = written && ::link(unfinished.c_str(), path_of(name).c_str()) == 0;
  const int reason = errno;
  ::unlink(unfinished.c_str());
  errno = reason;
  if (linked || reason == EEXIST) return {};
  if (!written || (reason != EPERM && reason != EOPNOTSUPP && reason != ENOSYS))
    return trouble(path_of(name));
  return Error{Errc::bad_config, fmt::format("--rendezvous file://{}: its file system has no hard "
                                             "links; name another folder, or use tcp://HOST:PORT",
                                             folder_)};
}

Result<std::optional<Notice>> NoticeFolder::put(Notice notice,
                                                const std::optional<Notice>& former) const {
  notice.number = former ? former->number + 1 : 1;
  if (Result<void> added = add(notice); !added) return added.error();
  const Result<std::optional<Notice>> counts = newest();
  const bool is_ours = counts && *counts && (*counts)->id == notice.id;
  if (is_ours && former) remove(*former);
  if (!is_ours) remove(notice);
  if (!counts) return counts.error();
  return is_ours ? std::optional(notice) : std::nullopt;
}

void NoticeFolder::remove(const Notice& notice) const {
  const auto there = numbers();
  if (!there) return;
  for (const std::uint64_t number : *there) {
    if (number > notice.number) return;
    const auto found = read(number);
    if (found && (number < notice.number || (*found)->id == notice.id))
      ::unlink(path_of(name_of(number)).c_str());
  }
}

}  // namespace safelaunch::agree
