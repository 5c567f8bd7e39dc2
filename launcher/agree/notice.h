#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/result.h"

namespace safelaunch::agree {

/// Where the agent of node 0 keeps the board of a job.
struct Notice {
  std::string id;                      ///< of this board and no other
  std::vector<std::string> endpoints;  ///< each "ADDRESS:PORT", at least one
  std::uint64_t number = 0;            ///< that of its file; the board with the greatest one counts
};

/// The shared folder in which the keeper of a job's board tells where it is. Each notice is a file
/// of its own, `safelaunch-JOB.NUMBER` (0600), sealed with the token. It appears whole, and there
/// is never another one in its place: so of two agents that want to keep a board only one gets the
/// number, and who replaces a board that is gone takes the next. All calls may block for as long as
/// the file system does.
///
/// Over NFS a client asks the server anew whenever it opens a folder; so each look opens one.
///
/// Errors: peer_lost, where a later try may succeed; every other one is final, because somebody
/// else could put his files there, or a file in the notice's place is none of this job's.
class NoticeFolder {
 public:
  NoticeFolder(std::string folder, std::string_view job, std::string_view token);

  /// The notice that counts; nullopt: there is none. Makes the folder where it is missing.
  [[nodiscard]] Result<std::optional<Notice>> newest() const;

  /// Puts a notice there in place of `former`, the one that newest() has given, and gives it with
  /// its number; nullopt: another agent was quicker.
  [[nodiscard]] Result<std::optional<Notice>> put(Notice notice,
                                                  const std::optional<Notice>& former) const;

  /// Removes a notice of ours, and what stands behind it.
  void remove(const Notice& notice) const;

 private:
  [[nodiscard]] Result<void> prepare() const;
  [[nodiscard]] Result<std::vector<std::uint64_t>> numbers() const;
  [[nodiscard]] Result<std::optional<Notice>> read(std::uint64_t number) const;
  [[nodiscard]] Result<void> judge(const std::string& path) const;
  [[nodiscard]] Result<void> add(const Notice& notice) const;
  [[nodiscard]] std::string name_of(std::uint64_t number) const;
  [[nodiscard]] std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  std::string name_;  ///< of the files, without their numbers
  std::string key_;
};

}  // namespace safelaunch::agree
