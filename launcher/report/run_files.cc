#include "safelaunch/report/run_files.h"

#include <sys/stat.h>

#include <algorithm>

#include "json.h"
#include "run_names.h"
#include "safelaunch/base/both_ends.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"

// The name of a file (run_names.h) says how much of it is read: small files whole,
// the record at both ends, a log from its end. Many logs share what there is for all of them, each
// with at least 2 KiB; once that is used up, the remaining logs are passed over and counted.
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

bool is_read(RunName kind) {
  return kind == RunName::small || kind == RunName::record || kind == RunName::log;
}

struct Listed {
  fs::path relative;
  RunName kind = RunName::foreign;
};

std::vector<Listed> list(const fs::path& directory) {
  std::vector<Listed> result;
  std::error_code none;
  fs::recursive_directory_iterator at(directory, none);
  for (; !none && at != fs::recursive_directory_iterator() && result.size() < kMostFiles;
       at.increment(none)) {
    if (at.depth() == 2) at.disable_recursion_pending();
    const fs::path relative = at->path().lexically_relative(directory);
    if (const RunName kind = run_name_of(relative); is_read(kind))
      result.push_back({relative, kind});
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
      listed.begin(), listed.end(), [](const Listed& file) { return file.kind == RunName::log; }));
  const std::size_t share = limits.logs / std::max<std::size_t>(1, logs);
  return std::min(limits.log, std::max(kLeast, share));
}

std::string read(const OpenFile& file, RunName kind, const ReadLimits& limits, std::size_t log) {
  switch (kind) {
    case RunName::record: return read_both_ends(file, limits.record);
    case RunName::log: return read_end(file, log);
    default: return read_range(file, 0, fitting(file.size, kSmallFile));
  }
}

constexpr char kEscape = '\x1b';
constexpr std::string_view kUnshowable = "\ufffd";

// The length of "ESC [ parameters final".
std::size_t control_sequence_length(std::string_view text) {
  std::size_t end = 2;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
  return end < text.size() && text[end] >= 0x40 && text[end] < 0x7f ? end + 1 : end;
}

// The length of "ESC ] … BEL" or "ESC ] … ESC \". One without an end hides only its own line.
std::size_t string_sequence_length(std::string_view text) {
  for (std::size_t end = 2; end < text.size(); ++end) {
    if (text[end] == '\a') return end + 1;
    if (text[end] == '\n') return end;
    if (text[end] == kEscape) return text.substr(end + 1, 1) == "\\" ? end + 2 : end;
  }
  return text.size();
}

// The length of the escape sequence at the front of the text.
std::size_t escape_length(std::string_view text) {
  constexpr std::string_view kStrings = "]P^_X";
  if (text.size() < 2) return text.size();
  if (text[1] == '[') return control_sequence_length(text);
  if (kStrings.find(text[1]) != std::string_view::npos) return string_sequence_length(text);
  std::size_t end = 1;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x30) ++end;
  return end < text.size() && text[end] >= 0x30 && text[end] < 0x7f ? end + 1 : end;
}

bool is_unshowable(char32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0) || hides(value);
}

class PlainWriter {
 public:
  void put(std::string_view text) {
    if (overdrawn_) text_.resize(line_);
    overdrawn_ = false;
    text_ += text;
  }
  void end_line() {
    overdrawn_ = false;
    text_ += '\n';
    line_ = text_.size();
  }
  void to_line_start() { overdrawn_ = true; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::size_t line_ = 0;  // the place where the present line begins
  bool overdrawn_ = false;
};

// Writes the first character or escape sequence of the text; returns its length.
std::size_t put_next(std::string_view text, PlainWriter& to) {
  if (text[0] == kEscape) return escape_length(text);
  if (text[0] == '\n') return to.end_line(), 1;
  if (text[0] == '\r') return to.to_line_start(), 1;
  if (text[0] == '\t') return to.put("\t"), 1;
  const CodePoint point = first_code_point(text);
  const bool shown = point.kind == CodePoint::Kind::valid && !is_unshowable(point.value);
  to.put(shown ? text.substr(0, point.length) : kUnshowable);
  return point.length;
}

void make_plain(Json& json) {
  if (json.is_string()) json = plain_text(json.get_ref<const std::string&>());
  if (json.is_structured())
    for (Json& inner : json) make_plain(inner);
}

// Calls `on_text` for each document of a file: for the whole file, or for each line of a .jsonl.
template <class OnText>
void for_each_document(const RecordedFile& file, OnText on_text) {
  if (!file.name.ends_with(".jsonl")) return on_text(std::string_view(file.text));
  std::string_view rest = file.text;
  while (!rest.empty()) on_text(take_word(rest, '\n'));
}

bool is_json(const RecordedFile& file) {
  return file.name.ends_with(".json") || file.name.ends_with(".jsonl");
}

redact::Redactor redactor_for(const RunFiles& files, const Environment& environment) {
  redact::Redactor redactor;
  redactor.learn(environment);
  for (const RecordedFile& file : files.files) {
    for_each_document(file, [&](std::string_view text) {
      const Json json = is_json(file) ? parse_json<Json>(text) : Json();
      if (is_json(file) && !json.is_discarded()) return learn_from(json, redactor);
      redactor.learn(plain_text(text));
    });
  }
  return redactor;
}

std::string cleaned_document(std::string_view text, int indent, const redact::Redactor& redactor) {
  Json json = parse_json<Json>(text);
  // A torn line is a text like any other.
  if (json.is_discarded()) return redactor.redact(plain_text(text));
  make_plain(json);
  redact(json, redactor);
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string cleaned_text(const RecordedFile& file, const redact::Redactor& redactor) {
  if (!is_json(file)) return redactor.redact(plain_text(file.text));
  const bool lines = file.name.ends_with(".jsonl");
  std::string result;
  for_each_document(file, [&](std::string_view text) {
    result += cleaned_document(text, lines ? -1 : 2, redactor) + "\n";
  });
  return result;
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
    if (!file || (entry.kind == RunName::log && file->size == 0)) continue;
    if (entry.kind == RunName::log && logs_read >= limits.logs) {
      ++result.passed_over;
      continue;
    }
    RecordedFile read_file{entry.relative.native(), read(*file, entry.kind, limits, log),
                           file->size, 0};
    read_file.left_out = file->size - std::min<std::uintmax_t>(file->size, read_file.text.size());
    if (entry.kind == RunName::log) logs_read += read_file.text.size();
    result.files.push_back(std::move(read_file));
  }
  return result;
}

std::string plain_text(std::string_view bytes) {
  PlainWriter writer;
  while (!bytes.empty()) bytes.remove_prefix(put_next(bytes, writer));
  return writer.take();
}

std::string plain_line(std::string_view bytes) {
  std::string text(bytes);
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return plain_text(text);
}

// Secrets are taken out in two passes. The first learns from all files, since a secret that the
// command line gives away may stand bare in a log. The second cleans each file: JSON by its
// members, so that it stays JSON, all else as text. A document that should be JSON and is not, such
// as a torn line, is cleaned as text.
RunFiles cleaned(RunFiles files, const Environment& environment) {
  const redact::Redactor redactor = redactor_for(files, environment);
  for (RecordedFile& file : files.files) {
    file.text = cleaned_text(file, redactor);
    file.name = redactor.redact(plain_text(file.name));
  }
  return files;
}

}  // namespace safelaunch::report
