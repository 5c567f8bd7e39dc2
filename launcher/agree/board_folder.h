#pragma once

#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::agree {

/// One folder in which a board is kept, and the changes that can be made there in one step each.
/// All calls may block for as long as the file system does. Once open, the object stays with this
/// very folder: a folder that is put at its path later is another one.
///
/// Over NFS a client asks the server anew whenever it opens a folder; so each look opens one.
class BoardFolder {
 public:
  /// Errors: there is no folder at `path` (then `nothing` is true), or it cannot be opened.
  [[nodiscard]] static Result<BoardFolder> open(const std::string& path, bool& nothing);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether the folder is still at its path.
  [[nodiscard]] Result<bool> is_there() const;

  /// The names in a folder within ("." for the folder itself).
  [[nodiscard]] Result<std::vector<std::string>> names(const std::string& within) const;
  [[nodiscard]] Result<bool> has(const std::string& name) const;
  [[nodiscard]] Result<std::string> read(const std::string& name) const;
  /// Renames a file. False where it is not there (any more): somebody was quicker. `to` must be a
  /// name that never was.
  [[nodiscard]] Result<bool> move(const std::string& from, const std::string& to) const;
  /// Replaces a file in one step.
  [[nodiscard]] Result<void> write(const std::string& name, std::string_view text) const;
  /// Makes a new file. False where there is one of this name.
  [[nodiscard]] Result<bool> add(const std::string& name, std::string_view text) const;
  void remove(const std::string& name) const;
  void remove_folder(const std::string& name) const;
  [[nodiscard]] Result<void> make_folder(const std::string& name) const;

 private:
  BoardFolder(std::string path, UniqueFd root) : path_(std::move(path)), root_(std::move(root)) {}
  [[nodiscard]] Error error(const std::string& name) const;

  std::string path_;
  UniqueFd root_;
};

}  // namespace safelaunch::agree
