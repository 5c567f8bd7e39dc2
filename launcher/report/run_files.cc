// Each name in a run directory has a kind, and the kind says how much is read: small files whole,
// the record at both ends, a log from its end. Many logs share what there is for all of them, each
// with at least 2 KiB; once that is used up, the remaining logs are passed over and counted.
#include "safelaunch/report/run_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

namespace safelaunch::report {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSmallFile = 1U << 20;  // job.json, outcome.json, env.diff, a stack
constexpr std::size_t kMostFiles = 20'000;

struct OpenFile {
  UniqueFd fd;
  std::uintmax_t size = 0;
};

std::optional<OpenFile> open_regular(const fs::path& file) {
  Result<UniqueFd> fd = open_user_file(file, Links::refused);  // a link leads out of the folder
  struct stat facts {};
  if (!fd || fstat(fd->get(), &facts) != 0) return std::nullopt;
  return OpenFile{std::move(*fd), static_cast<std::uintmax_t>(facts.st_size)};
}

std::string read_range(const OpenFile& file, std::uintmax_t from, std::size_t count) {
  std::string text(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        pread(file.fd.get(), text.data() + done, count - done, static_cast<off_t>(from + done));
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

// Removes the torn line at the start: half a secret in it could not be recognised. Of a line that
// is longer than a quarter of the text, only the words in that quarter go, or the first word.
void drop_partial_start(std::string& text) {
  constexpr std::string_view kBetweenWords = " \t\r\n\",;";
  const std::string_view head = std::string_view(text).substr(0, text.size() / 4);
  std::size_t end = head.find('\n');
  if (end == std::string::npos) end = head.find_last_of(kBetweenWords);
  if (end == std::string::npos) end = text.find_first_of(kBetweenWords);
  text.erase(0, end == std::string::npos ? head.size() : end + 1);
}

std::size_t fitting(std::uintmax_t size, std::size_t limit) {
  return static_cast<std::size_t>(std::min<std::uintmax_t>(size, limit));
}

std::string read_end(const OpenFile& file, std::size_t limit) {
  std::string text = read_range(file, file.size - fitting(file.size, limit), limit);
  if (file.size > limit) drop_partial_start(text);
  return text;
}

// The first quarter of the limit from the beginning, the rest from the end.
std::string read_both_ends(const OpenFile& file, std::size_t limit) {
  if (file.size <= limit) return read_range(file, 0, fitting(file.size, limit));
  std::string head = read_range(file, 0, limit / 4);
  head.resize(head.rfind('\n') + 1);  // npos + 1 is 0: nothing stays
  return head + read_end(file, limit - limit / 4);
}

enum class Kind { none, small, record, log };

Kind kind_in_attempt(std::string_view name) {
  if (name == "env.diff") return Kind::small;
  const bool log = name.ends_with(".out") || name.ends_with(".err") || name.starts_with("nccl.");
  return log ? Kind::log : Kind::none;
}

Kind kind_of(const fs::path& relative) {
  const std::vector<std::string> parts(relative.begin(), relative.end());
  const std::string& last = parts.back();
  if (parts.size() == 1) {
    if (last == "job.json" || last == "outcome.json") return Kind::small;
    return last == "events.jsonl" ? Kind::record : Kind::none;
  }
  if (!parts[0].starts_with("attempt-")) return Kind::none;
  if (parts.size() == 2) return kind_in_attempt(last);
  const bool evidence = parts.size() == 3 && parts[1] == "evidence";
  return evidence ? Kind::small : Kind::none;
}

struct Listed {
  fs::path relative;
  Kind kind = Kind::none;
};

std::vector<Listed> list(const fs::path& directory) {
  std::vector<Listed> result;
  std::error_code none;
  fs::recursive_directory_iterator at(directory, none);
  for (; !none && at != fs::recursive_directory_iterator() && result.size() < kMostFiles;
       at.increment(none)) {
    if (at.depth() == 2) at.disable_recursion_pending();
    const fs::path relative = at->path().lexically_relative(directory);
    if (const Kind kind = kind_of(relative); kind != Kind::none) result.push_back({relative, kind});
  }
  std::sort(result.begin(), result.end(),
            [](const Listed& a, const Listed& b) { return a.relative < b.relative; });
  return result;
}

// The bytes to read of each log. Many ranks share the limit for all logs, but a share is never so
// small that it says nothing.
std::size_t share_of_log(const std::vector<Listed>& listed, const ReadLimits& limits) {
  constexpr std::size_t kLeast = 2U << 10;
  const auto logs = static_cast<std::size_t>(std::count_if(
      listed.begin(), listed.end(), [](const Listed& file) { return file.kind == Kind::log; }));
  const std::size_t share = limits.logs / std::max<std::size_t>(1, logs);
  return std::min(limits.log, std::max(kLeast, share));
}

std::string read(const OpenFile& file, Kind kind, const ReadLimits& limits, std::size_t log) {
  switch (kind) {
    case Kind::record: return read_both_ends(file, limits.record);
    case Kind::log: return read_end(file, log);
    default: return read_range(file, 0, fitting(file.size, kSmallFile));
  }
}

}  // namespace

std::string_view RunFiles::text(std::string_view name) const {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const RecordedFile& file) { return file.name == name; });
  return found == files.end() ? std::string_view() : std::string_view(found->text);
}

RunFiles read_run_files(const fs::path& directory, const ReadLimits& limits) {
  RunFiles result;
  result.directory = directory;
  const std::vector<Listed> listed = list(directory);
  const std::size_t log = share_of_log(listed, limits);
  std::size_t logs_read = 0;
  for (const Listed& entry : listed) {
    const std::optional<OpenFile> file = open_regular(directory / entry.relative);
    if (!file || (entry.kind == Kind::log && file->size == 0)) continue;
    if (entry.kind == Kind::log && logs_read >= limits.logs) {
      ++result.passed_over;
      continue;
    }
    RecordedFile read_file{entry.relative.native(), read(*file, entry.kind, limits, log),
                           file->size, 0};
    read_file.left_out = file->size - std::min<std::uintmax_t>(file->size, read_file.text.size());
    if (entry.kind == Kind::log) logs_read += read_file.text.size();
    result.files.push_back(std::move(read_file));
  }
  return result;
}

}  // namespace safelaunch::report
