#include "safelaunch/profile/trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/settings/run_options.h"

// A file decides what we run, so it must belong to the user or to root, and nobody else may write
// to it. It is judged by its open descriptor, so that it cannot be exchanged between the look and
// the reading. A file that lies in the working directory unasked may tune a library and set the
// options whose row says so. It may name no file, folder, plugin, or place where the job meets.
namespace safelaunch::profile {
namespace {

constexpr unsigned kGroupWrites = 0020;
constexpr unsigned kOthersWrite = 0002;

const char* name(FileFacts::Type type) {
  switch (type) {
    case FileFacts::Type::regular: return "a regular file";
    case FileFacts::Type::directory: return "a directory";
    case FileFacts::Type::fifo: return "a FIFO";
    case FileFacts::Type::socket: return "a socket";
    case FileFacts::Type::device: return "a device";
  }
  return "unknown";
}

FileFacts::Type type_of(mode_t mode) {
  if (S_ISREG(mode)) return FileFacts::Type::regular;
  if (S_ISDIR(mode)) return FileFacts::Type::directory;
  if (S_ISFIFO(mode)) return FileFacts::Type::fifo;
  if (S_ISSOCK(mode)) return FileFacts::Type::socket;
  return FileFacts::Type::device;
}

FileFacts facts_of(const struct stat& status) {
  return {type_of(status.st_mode), status.st_uid, status.st_mode & 07777U};
}

Error cannot_read(const std::string& path, int error) {
  if (error == ELOOP)
    return Error{Errc::bad_config,
                 fmt::format("{}: refused: it is a symbolic link; name the file that it points to "
                             "(`readlink -f {}`), or put a copy there",
                             path, path)};
  return Error{Errc::bad_config, fmt::format("{}: cannot be read: {}", path, strerror(error))};
}

Error refused(const std::string& path, const std::string& why) {
  return Error{Errc::bad_config, fmt::format("{}: refused: {}", path, why)};
}

Result<std::string> read_all(int fd, const std::string& path, std::size_t most) {
  std::string text;
  while (text.size() <= most) {
    char block[16384];
    const ssize_t got = ::read(fd, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, errno);
    if (got == 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
  return refused(path, fmt::format("it has more than {} bytes", most));
}

// A job that has dropped root (gosu, setpriv) still has root's HOME, which it may not look into.
bool is_hidden_by_its_folder(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 && errno == EACCES;
}

// The families whose variables are known one by one. UCX, libfabric and gloo have hundreds, with
// devices, keys, commands and addresses of mail among them.
constexpr std::array<std::string_view, 5> kTuned{"NCCL_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_",
                                                 "OMP_", "MKL_"};
// A plugin is loaded, a command is run, and a file that a variable names is read, written or
// loaded.
constexpr std::array<std::string_view, 10> kNamesPlace{
    "PLUGIN", "PATH", "FILE", "LIB", "DIR", "CONF", "TOOL", "MODULE", "COMMAND", "DEST"};
// Whoever chooses the address or the interface over which ranks meet may be the one they meet, and
// ranks run what a peer sends them (pickle).
constexpr std::array<std::string_view, 7> kNamesPeer{"COMM_ID", "ADDR",   "SOCKET_", "HOST",
                                                     "IFACE",   "IFNAME", "HCA"};

std::optional<std::string> variables_of(const YamlNode& node) {
  for (const YamlEntry& entry : node.entries)
    if (!is_harmless_variable(entry.key)) return "sets " + entry.key;
  const auto unset = [](const YamlNode& one) { return !is_harmless_variable(one.text); };
  const auto found = std::ranges::find_if(node.items, unset);
  if (found != node.items.end()) return "unsets " + found->text;
  return std::nullopt;
}

bool may_set(const settings::Option& option, std::string_view value) {
  if (option.trust == settings::Trust::not_for_flag)
    return !settings::refuse_value(settings::Option{}, value);
  return option.trust == settings::Trust::not_needed;
}

// The reader of the file refuses an option that there is not, with the nearest right word.
std::optional<std::string> options_of(const YamlNode& node) {
  for (const YamlEntry& entry : node.entries) {
    const settings::Option* option = settings::find_run_option(entry.key);
    if (option != nullptr && !may_set(*option, entry.value.text))
      return fmt::format("sets the option {}", entry.key);
  }
  return std::nullopt;
}

// In a chain, or in what a profile extends: a name is looked up, and the file that is found is
// judged too.
std::optional<std::string> files_of(const YamlNode& node) {
  if (node.text.find('/') != std::string::npos || node.text.find(".y") != std::string::npos)
    return fmt::format("names the file {}", node.text);
  for (const YamlNode& item : node.items)
    if (auto why = files_of(item)) return why;
  return std::nullopt;
}

std::optional<std::string> in_entry(const YamlEntry& entry) {
  if (entry.key == "env" || entry.key == "unset") return variables_of(entry.value);
  if (entry.key == "args") return "changes the script's arguments";
  if ((entry.key == "resume" || entry.key == "retry") && entry.value.text != "off")
    return "starts training again";
  if (entry.key == "options") return options_of(entry.value);
  if (entry.key == "chain" || entry.key == "extends") return files_of(entry.value);
  for (const YamlNode& item : entry.value.items)  // clusters
    if (auto why = what_needs_trust(item)) return why;
  return std::nullopt;
}

}  // namespace

std::optional<std::string> distrust(const FileFacts& facts, FileFacts::Type wanted, unsigned user,
                                    const std::string& path) {
  if (facts.type != wanted) return fmt::format("it is {}, not {}", name(facts.type), name(wanted));
  if (facts.owner != user && facts.owner != 0)
    return fmt::format(
        "it belongs to uid {}, who could change what the job runs; make a copy of your own",
        facts.owner);
  if ((facts.mode & (kGroupWrites | kOthersWrite)) == 0) return std::nullopt;
  return fmt::format(
      "{} can write to it (mode {:04o}) and so change what the job runs; run `chmod go-w {}`",
      (facts.mode & kOthersWrite) != 0 ? "everybody" : "its group", facts.mode, path);
}

Result<std::optional<std::string>> read_trusted_file(const std::string& path, std::size_t most) {
  const UniqueFd file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::optional<std::string>();
  const int reason = errno;
  if (!file && is_hidden_by_its_folder(path)) return std::optional<std::string>();
  if (!file) return cannot_read(path, reason);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return cannot_read(path, errno);
  const auto why = distrust(facts_of(status), FileFacts::Type::regular, ::geteuid(), path);
  if (why) return refused(path, *why);
  Result<std::string> text = read_all(file.get(), path, most);
  if (text.has_error()) return text.error();
  return std::optional<std::string>(std::move(*text));
}

std::optional<std::string> distrust_folder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return distrust(facts_of(status), FileFacts::Type::directory, ::geteuid(), path);
}

bool is_harmless_variable(std::string_view name) {
  const auto begins = [&](std::string_view family) { return name.starts_with(family); };
  const auto holds = [&](std::string_view word) { return name.find(word) != name.npos; };
  return std::ranges::any_of(kTuned, begins) && std::ranges::none_of(kNamesPlace, holds) &&
         std::ranges::none_of(kNamesPeer, holds);
}

std::optional<std::string> what_needs_trust(const YamlNode& root) {
  for (const YamlEntry& entry : root.entries)
    if (auto why = in_entry(entry)) return why;
  return std::nullopt;
}

std::optional<std::string> what_needs_trust(std::string_view text) {
  const Result<YamlNode> root = parse_yaml(text, "");
  return root ? what_needs_trust(*root) : std::nullopt;
}

}  // namespace safelaunch::profile
