#include "safelaunch/report/run_logs.h"

#include <unistd.h>

#include <algorithm>
#include <tuple>

#include "run_names.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/report/run_files.h"

// A file is read from where the last reading ended, so that a long one costs no memory and a
// growing one is followed.
namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPart = 1U << 20;

struct Numbered {
  OutputFile file;
  int attempt = 0;
  int rank = -1;  ///< -1: the launcher's
};

// The rank in "rank-3.err", -1 for "launcher.out"; nullopt for a file that holds no output.
std::optional<int> rank_in(std::string_view name) {
  if (name == "launcher.out" || name == "launcher.err") return -1;
  if (!name.starts_with("rank-") || !(name.ends_with(".out") || name.ends_with(".err")))
    return std::nullopt;
  return to_number(name.substr(5, name.size() - 9));
}

void add_files(const fs::path& folder, const std::string& prefix, int attempt,
               std::vector<Numbered>& files) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().native();
    if (const auto rank = rank_in(name)) files.push_back({{prefix + name, entry}, attempt, *rank});
  }
}

// The number in "attempt-2-no-shm".
std::optional<int> attempt_in(std::string_view name) {
  if (run_name_of(name) != RunName::folder) return std::nullopt;
  name.remove_prefix(std::string_view("attempt-").size());
  return to_number(name.substr(0, name.find('-')));
}

}  // namespace

std::vector<OutputFile> output_files(const fs::path& directory, const fs::path& log_dir,
                                     std::optional<int> rank) {
  std::vector<Numbered> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    const std::string name = entry.path().filename().native();
    if (const auto attempt = attempt_in(name)) add_files(entry, name + "/", *attempt, found);
  }
  if (!log_dir.empty()) add_files(log_dir, log_dir.native() + "/", 0, found);
  std::erase_if(found, [&](const Numbered& one) { return rank && one.rank != *rank; });
  std::ranges::sort(found, {}, [](const Numbered& one) {
    return std::tuple(one.attempt, one.rank, !one.file.name.ends_with(".out"));
  });
  std::vector<OutputFile> files;
  for (Numbered& one : found) files.push_back(std::move(one.file));
  return files;
}

std::string OutputReader::more(bool complete) {
  const Result<UniqueFd> file = open_user_file(path_.native());
  if (!file) return {};
  const std::size_t before = rest_.size();
  rest_.resize(before + kPart);
  const ssize_t got = ::pread(file->get(), rest_.data() + before, kPart, static_cast<off_t>(read_));
  rest_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  read_ += static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
  const bool at_end = got < static_cast<ssize_t>(kPart);
  // A line without an end must not fill the memory.
  const bool all = (complete && at_end) || rest_.size() > 2 * kPart;
  const std::size_t end = all ? rest_.size() : rest_.rfind('\n') + 1;
  const std::string part = rest_.substr(0, end);
  rest_.erase(0, end);
  return plain_text(part);
}

}  // namespace safelaunch::report
