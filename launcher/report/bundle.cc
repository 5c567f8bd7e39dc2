#include "safelaunch/report/bundle.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

#include "archive.h"
#include "excerpts.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/report/report.h"

namespace safelaunch::report {
namespace {

constexpr std::string_view kAbout =
    R"(This is a report on one run of safelaunch, for a person who helps with it.

report.txt      the run as text; read this first
report.html     the same with a timeline; open it in a browser, it needs no network
job.json, events.jsonl, outcome.json, attempt-*/
                the run directory: what was run, what happened, the logs, the ranks' stacks
system/         the host: kernel, memory, limits, mounts, network, versions, GPUs where there are any

Taken out: passwords, tokens, keys and other secrets that safelaunch recognises by their name or
form; "[redacted]" stands in their place. Escape sequences are gone too, and of a progress bar only
the last state is left.
Not taken out: host names, user names, addresses, paths, the command, and lines of your code in
stacks and logs. Look through it before you give it away.

)";

std::string readme(const RunFiles& files, const RunRecord& run) {
  std::string text = fmt::format("Run {}\n\n{}Files\n", run.id, kAbout);
  for (const RecordedFile& file : files.files)
    text += fmt::format("  {}  {}\n", file.name, extent_in_words(file));
  if (files.passed_over != 0)
    text += fmt::format("  {} logs are left out for want of room\n", files.passed_over);
  return text;
}

// The run id may come from a file that somebody changed. Here it must not lead out of the folder
// into which the archive is unpacked.
std::string folder_of(const RunRecord& run) {
  std::string folder = "safelaunch-" + run.id;
  for (char& c : folder) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!plain && c != '-' && c != '_') c = '_';
  }
  return std::string(folder, 0, 80) + "/";
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Renames without overwriting. link(2) does so on every file system that has links.
bool rename_to_new(const std::string& from, const std::filesystem::path& to) {
  if (link(from.c_str(), to.c_str()) == 0) return unlink(from.c_str()) == 0;
  return errno != EEXIST &&
         renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
}

}  // namespace

std::string bundle(const RunFiles& files, const RunRecord& run) {
  UstarWriter archive(std::time(nullptr));
  const std::string folder = folder_of(run);
  bool complete = archive.add(folder + "README.txt", readme(files, run));
  complete &= archive.add(folder + "report.txt", text_report(run, Colour::off));
  complete &= archive.add(folder + "report.html", html_report(run));
  std::string unnamed;
  for (const RecordedFile& file : files.files)
    if (!archive.add(folder + file.name, file.text)) unnamed += file.name + "\n";
  if (!complete || !unnamed.empty())
    (void)archive.add("left-out.txt", "names too long for an archive:\n" + unnamed);
  return gzip(archive.finish());
}

Result<void> write_new_file(const std::filesystem::path& file, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.{}.new", file.native(), getpid());
  const auto refused = [&] {
    const int why = errno;
    unlink(temporary.c_str());
    return Error{Errc::os, fmt::format("{}: {}", file.native(), std::strerror(why))};
  };
  const UniqueFd fd(
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error{Errc::os, fmt::format("{}: {}", file.native(), std::strerror(errno))};
  if (!write_all(fd.get(), bytes) || !rename_to_new(temporary, file)) return refused();
  return {};
}

}  // namespace safelaunch::report
