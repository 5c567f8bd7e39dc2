#include "safelaunch/report/report.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <optional>

#include "excerpts.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/unique_fd.h"

// The archive is compressed as it grows, and written under a name that no file has yet, readable by
// its owner alone. It holds the cleaned files, the same reports that the verbs show, and the facts
// of the host. Names come from the record, so each is made harmless before it becomes a path in the
// archive.
namespace safelaunch::report {
namespace {

/// A gzip file in memory, of bytes that come one after the other.
class Gzip {
 public:
  Gzip() {
    constexpr int kGzip = MAX_WBITS + 16;  // zlib's way to ask for gzip's header
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void append(std::string_view bytes) { deflate(bytes, Z_NO_FLUSH); }
  [[nodiscard]] std::string finish() {
    deflate({}, Z_FINISH);
    return std::move(compressed_);
  }

 private:
  void deflate(std::string_view bytes, int flush) {
    std::array<Bytef, std::size_t{64} << 10> room;
    // zlib takes no const input, and does not write to it.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = room.data();
      stream_.avail_out = static_cast<uInt>(room.size());
      ::deflate(&stream_, flush);
      compressed_.append(reinterpret_cast<char*>(room.data()), room.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }

  z_stream stream_{};
  std::string compressed_;
};

/// Writes a tar archive (POSIX ustar, which every tar reads), compressed. Its files have mode 0600
/// and no owner, so that the archive does not tell who made it.
class UstarWriter {
 public:
  explicit UstarWriter(std::time_t modified) : modified_(modified) {}

  /// Adds a file. False if its name does not fit into a header (more than 255 bytes, or one part of
  /// it more than 100); the file is then left out.
  [[nodiscard]] bool add(std::string_view name, std::string_view text);

  /// Ends the archive and returns it.
  [[nodiscard]] std::string finish();

 private:
  std::time_t modified_;
  Gzip archive_;
};

constexpr std::size_t kBlock = 512;

// The header of a file as POSIX.1-1988 lays it out. Numbers are octal text.
struct Header {
  char name[100] = {};
  char mode[8] = {};
  char uid[8] = {};
  char gid[8] = {};
  char size[12] = {};
  char modified[12] = {};
  char checksum[8] = {};
  char type = '0';
  char link_name[100] = {};
  char magic[6] = {'u', 's', 't', 'a', 'r', '\0'};
  char version[2] = {'0', '0'};
  char user[32] = {};
  char group[32] = {};
  char device_major[8] = {};
  char device_minor[8] = {};
  char prefix[155] = {};
  char unused[12] = {};
};
static_assert(sizeof(Header) == kBlock);

template <std::size_t Size>
void put_octal(char (&field)[Size], std::uint64_t value) {
  const std::string digits = fmt::format("{:0{}o}", value, Size - 1);
  std::memcpy(field, digits.data(), Size - 1);
}

struct SplitName {
  std::string_view prefix;
  std::string_view name;
};

std::optional<SplitName> split(std::string_view path) {
  constexpr std::size_t kName = sizeof(Header::name);
  constexpr std::size_t kPrefix = sizeof(Header::prefix);
  if (path.size() <= kName) return SplitName{{}, path};
  const std::size_t slash = path.find('/', path.size() - kName - 1);
  if (slash == std::string_view::npos || slash > kPrefix) return std::nullopt;
  return SplitName{path.substr(0, slash), path.substr(slash + 1)};
}

// Writes the sum of the header's bytes, with the checksum's own field counted as blanks.
void put_checksum(Header& header) {
  std::memset(header.checksum, ' ', sizeof header.checksum);
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  unsigned sum = 0;
  for (std::size_t i = 0; i < sizeof header; ++i) sum += bytes[i];
  const std::string digits = fmt::format("{:06o}", sum);
  std::memcpy(header.checksum, digits.data(), 6);
  header.checksum[6] = '\0';
}

bool UstarWriter::add(std::string_view name, std::string_view text) {
  const std::optional<SplitName> parts = split(name);
  if (!parts || name.empty()) return false;
  Header header;
  parts->name.copy(header.name, sizeof header.name);
  parts->prefix.copy(header.prefix, sizeof header.prefix);
  put_octal(header.mode, 0600);
  put_octal(header.uid, 0);
  put_octal(header.gid, 0);
  put_octal(header.size, text.size());
  put_octal(header.modified, static_cast<std::uint64_t>(std::max<std::time_t>(0, modified_)));
  put_checksum(header);
  archive_.append({reinterpret_cast<const char*>(&header), sizeof header});
  archive_.append(text);
  archive_.append(std::string((kBlock - text.size() % kBlock) % kBlock, '\0'));
  return true;
}

std::string UstarWriter::finish() {
  archive_.append(std::string(2 * kBlock, '\0'));
  return archive_.finish();
}

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
  complete &= archive.add(folder + "report.txt", laid_out(text_report(run), {}));
  complete &= archive.add(folder + "report.html", html_report(run));
  std::string unnamed;
  for (const RecordedFile& file : files.files)
    if (!archive.add(folder + file.name, file.text)) unnamed += file.name + "\n";
  if (!complete || !unnamed.empty())
    (void)archive.add("left-out.txt", "names too long for an archive:\n" + unnamed);
  return archive.finish();
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
  if (!write_whole(fd.get(), bytes) || !rename_to_new(temporary, file)) return refused();
  return {};
}

}  // namespace safelaunch::report
