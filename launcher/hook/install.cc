#include "safelaunch/hook/install.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "safelaunch/base/format.h"

namespace safelaunch {
namespace {

namespace fs = std::filesystem;

/// FNV-1a: the directory's name only has to differ when the content does. Of eight bytes at a time,
/// since every start of safelaunch computes it; with a rotation, since a product's low bits never
/// learn of the high ones.
std::uint64_t content_hash() {
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
  for (const EmbeddedFile& file : hook_files()) {
    add(file.path);
    add(file.text);
  }
  return hash;
}

Error failure(std::string_view what, const fs::path& path, const std::error_code& error) {
  return Error{Errc::os, fmt::format("the Python hook cannot be installed: {} {}: {}", what,
                                     path.string(), error.message())};
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

/// A directory of ours alone: whoever can write to it runs code in every worker.
Result<> check_owner(const fs::path& directory) {
  struct stat status = {};
  if (::lstat(directory.c_str(), &status) != 0) return failure("stat", directory, last_error());
  if (S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
      (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) {
    return {};
  }
  return Error{Errc::os,
               fmt::format("the Python hook cannot be installed: {} belongs to somebody else, or "
                           "others may write to it; remove it, or choose another cache directory "
                           "with XDG_CACHE_HOME",
                           directory.string())};
}

/// Looks at sizes only: the directory's name tells the content, and what is missing or was cut
/// short by a full disk is what happens.
bool is_intact(const fs::path& directory) {
  for (const EmbeddedFile& file : hook_files()) {
    std::error_code error;
    if (fs::file_size(directory / file.path, error) != file.text.size() || error) return false;
  }
  return true;
}

Result<> write_files(const fs::path& directory) {
  for (const EmbeddedFile& file : hook_files()) {
    const fs::path path = directory / file.path;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return failure("mkdir", path.parent_path(), error);
    std::ofstream stream(path, std::ios::binary);
    stream.write(file.text.data(), static_cast<std::streamsize>(file.text.size()));
    stream.close();
    if (!stream) return failure("write", path, last_error());
  }
  return {};
}

/// A new directory with the files in it, beside the place where they shall be.
Result<fs::path> write_aside(const fs::path& cache_dir) {
  std::string name = (cache_dir / "hook-new-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) return failure("mkdir", name, last_error());  // mode 0700
  const Result<> written = write_files(name);
  if (written) return fs::path(name);
  std::error_code ignored;
  fs::remove_all(name, ignored);
  return written.error();
}

/// Makes `aside` the directory. Another safelaunch may have been quicker; then its files stay.
Result<> put_in_place(const fs::path& aside, const fs::path& directory) {
  const fs::path damaged = aside.string() + "-old";
  std::error_code error;
  fs::rename(aside, directory, error);
  if (error && !is_intact(directory)) {
    std::error_code ignored;
    fs::rename(directory, damaged, ignored);
    fs::rename(aside, directory, error);
  }
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  fs::remove_all(damaged, ignored);
  if (is_intact(directory)) return {};
  return failure("rename", directory, error);
}

}  // namespace

Result<fs::path> install_hook(const fs::path& cache_dir) {
  if (cache_dir.string().find(':') != std::string::npos) {
    return Error{Errc::os, fmt::format("the Python hook cannot be installed in {}: PYTHONPATH "
                                       "cannot hold a path with a colon",
                                       cache_dir.string())};
  }
  const fs::path directory = cache_dir / fmt::format("hook-{:016x}", content_hash());
  if (::access(directory.c_str(), F_OK) != 0 || !is_intact(directory)) {
    std::error_code error;
    fs::create_directories(cache_dir, error);
    if (error) return failure("mkdir", cache_dir, error);
    const Result<fs::path> aside = write_aside(cache_dir);
    if (!aside) return aside.error();
    const Result<> placed = put_in_place(*aside, directory);
    if (!placed) return placed.error();
  }
  const Result<> ours = check_owner(directory);
  if (!ours) return ours.error();
  return directory;
}

void add_hook_to(Environment& environment, const fs::path& directory, std::string_view socket,
                 std::string_view token) {
  const std::string_view before = value_or(environment, "PYTHONPATH");
  environment["PYTHONPATH"] =
      before.empty() ? directory.string() : fmt::format("{}:{}", directory.string(), before);
  environment["SAFELAUNCH_HOOK"] = socket;
  environment["SAFELAUNCH_HOOK_TOKEN"] = token;
}

}  // namespace safelaunch
