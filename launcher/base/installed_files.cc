#include "safelaunch/base/installed_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>

#include "safelaunch/base/format.h"
#include "safelaunch/base/trusted_path.h"

/// The files are written into a new folder beside their place, and one rename puts the folder
/// there. So no reader sees half of them, and of several safelaunches the first one wins.
namespace safelaunch {
namespace {

namespace fs = std::filesystem;

/// FNV-1a: the directory's name only has to differ when the content does. It takes eight bytes at a
/// time, because every start computes it. It rotates after each product, because multiplication
/// carries nothing from high bits to low ones.
std::uint64_t content_hash(std::span<const EmbeddedFile> files) {
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&hash](std::uint64_t word) {
    hash = std::rotl((hash ^ word) * 1099511628211U, 23);
  };
  const auto add = [&mix](std::string_view text) {
    mix(text.size());  // so that "ab","c" is not "a","bc"
    for (std::uint64_t word = 0; !text.empty();
         text.remove_prefix(std::min(text.size(), sizeof word))) {
      word = 0;
      std::memcpy(&word, text.data(), std::min(text.size(), sizeof word));
      mix(word);
    }
  };
  for (const EmbeddedFile& file : files) {
    add(file.path);
    add(file.text);
  }
  return hash;
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

/// Looks at the sizes alone. The directory's name vouches for the content; files are lost, or cut
/// short by a full disk, but hardly ever changed.
bool is_intact(const fs::path& directory, std::span<const EmbeddedFile> files) {
  return std::all_of(files.begin(), files.end(), [&](const EmbeddedFile& file) {
    std::error_code error;
    return fs::file_size(directory / file.path, error) == file.text.size() && !error;
  });
}

class Installation {
 public:
  Installation(const FileSet& set, fs::path cache_dir)
      : set_(set), cache_dir_(std::move(cache_dir)), directory_(place_of(set, cache_dir_)) {}

  Result<fs::path> run() {
    if (const Result<> made = make_private_folder(cache_dir_); !made)
      return untrusted(made.error());
    if (!is_intact(directory_, set_.files))
      if (const Result<> made = make(); !made) return made.error();
    if (const Result<> ours = check_owner(); !ours) return ours.error();
    // The directory's time tells of its last use: cleaners remove a directory that nobody uses.
    static_cast<void>(::utimensat(AT_FDCWD, directory_.c_str(), nullptr, 0));
    return directory_;
  }

 private:
  Result<> make() {
    const Result<fs::path> aside = write_aside();
    if (!aside) return aside.error();
    return put_in_place(*aside);
  }

  /// Makes a new directory with the files in it, beside their future place.
  Result<fs::path> write_aside() const {
    std::string name = (cache_dir_ / fmt::format("{}-new-XXXXXX", set_.name)).string();
    if (::mkdtemp(name.data()) == nullptr)  // mode 0700
      return failure("mkdir", name, last_error());
    const Result<> written = write_files(name);
    if (written) return fs::path(name);
    std::error_code ignored;
    fs::remove_all(name, ignored);
    return written.error();
  }

  Result<> write_files(const fs::path& directory) const {
    for (const EmbeddedFile& file : set_.files) {
      const fs::path path = directory / file.path;
      std::error_code error;
      fs::create_directories(path.parent_path(), error);
      if (error) return failure("mkdir", path.parent_path(), error);
      std::ofstream stream(path, std::ios::binary);
      stream.write(file.text.data(), static_cast<std::streamsize>(file.text.size()));
      stream.close();
      fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
      if (!stream || error) return failure("write", path, error ? error : last_error());
    }
    return {};
  }

  /// Makes `aside` the directory. Another safelaunch may have been quicker; then its files stay.
  Result<> put_in_place(const fs::path& aside) const {
    const fs::path damaged = aside.string() + "-old";
    std::error_code error;
    fs::rename(aside, directory_, error);
    if (error && !is_intact(directory_, set_.files)) {
      std::error_code ignored;
      fs::rename(directory_, damaged, ignored);
      fs::rename(aside, directory_, error);
    }
    std::error_code ignored;
    fs::remove_all(aside, ignored);
    fs::remove_all(damaged, ignored);
    if (is_intact(directory_, set_.files)) return {};
    return failure("rename", directory_, error);
  }

  /// Checks that the directory is ours alone: another writer's code would run in every worker.
  [[nodiscard]] Result<> check_owner() const {
    struct stat status = {};
    if (::lstat(directory_.c_str(), &status) != 0) return failure("stat", directory_, last_error());
    if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
      return {};
    }
    return Error{Errc::os,
                 fmt::format("{} cannot be installed: {} belongs to somebody else, or others may "
                             "write to it; remove it, or choose another cache directory with "
                             "XDG_CACHE_HOME",
                             set_.title, directory_.string())};
  }

  [[nodiscard]] Error untrusted(const Error& why) const {
    return Error{Errc::os, fmt::format("{} cannot be installed in {}: {}; choose another place "
                                       "with XDG_CACHE_HOME",
                                       set_.title, cache_dir_.string(), why.message)};
  }

  [[nodiscard]] Error failure(std::string_view what, const fs::path& path,
                              const std::error_code& error) const {
    return Error{Errc::os, fmt::format("{} cannot be installed: {} {}: {}", set_.title, what,
                                       path.string(), error.message())};
  }

  const FileSet& set_;
  fs::path cache_dir_;
  fs::path directory_;
};

}  // namespace

fs::path place_of(const FileSet& set, const fs::path& cache_dir) {
  return cache_dir / fmt::format("{}-{:016x}", set.name, content_hash(set.files));
}

Result<fs::path> install(const FileSet& set, const fs::path& cache_dir) {
  return Installation(set, cache_dir).run();
}

}  // namespace safelaunch
