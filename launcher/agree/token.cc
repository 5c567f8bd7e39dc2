#include "safelaunch/agree/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mac.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/trusted_path.h"
#include "safelaunch/base/unique_fd.h"

// A token that others can read or exchange is worse than none, so every doubt about its file is
// a refusal that names the remedy. The facts are those of the open file. A file that is missing
// is made whole under another name, and linked: of several agents that do so at once, all read
// one token.
namespace safelaunch::agree {
namespace {

constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 4096;
constexpr unsigned kOthersRead = 0077;

Error refused(const std::string& path, const std::string& why, const std::string& remedy) {
  return Error{Errc::bad_config,
               fmt::format("the token in {} is not used: {}; {}", path, why, remedy)};
}

Result<Token> checked(Token token) {
  token.secret = std::string(trimmed(token.secret));
  if (token.secret.size() >= kShortest) return token;
  return refused(
      token.from, fmt::format("it has {} characters", token.secret.size()),
      fmt::format("at least {} are needed, for example of: openssl rand -hex 32", kShortest));
}

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text(kLongest, '\0');
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  if (size < 0) return refused(path, strerror(errno), "make it readable for you");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

// The facts are those of the open file, so nobody can exchange it between the look and the reading.
Result<Token> read_token(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0)
    return refused(path, strerror(errno), "name another file with --token-file");
  if (!S_ISREG(facts.st_mode))
    return refused(path, "it is not a regular file", "name another one with --token-file");
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0)
    return refused(path, fmt::format("it belongs to uid {}", facts.st_uid),
                   "make one of your own, or name another file with --token-file");
  // A file of root's that we can read is one of the system: a secret that is mounted for us.
  if (facts.st_uid == ::geteuid() && (facts.st_mode & kOthersRead) != 0)
    return refused(path, fmt::format("others may open it (mode {:04o})", facts.st_mode & 07777U),
                   fmt::format("run: chmod 600 {}", path));
  Result<std::string> text = read_all(file.get(), path);
  if (!text) return text.error();
  return checked({std::move(*text), path});
}

// Of several agents on one shared home only one makes the file. It appears with its content: the
// others see none, or a whole one.
Result<void> make_token(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (const Result<void> made = make_private_folder(folder); !made)
    return refused(path, made.error().message, "name another file with --token-file");
  std::string temporary = path + ".XXXXXX";
  const UniqueFd file(::mkostemp(temporary.data(), O_CLOEXEC));
  const std::string secret = to_hex(bytes_of(random_digest())) + "\n";
  const bool written =
      file &&
      ::write(file.get(), secret.data(), secret.size()) == static_cast<ssize_t>(secret.size()) &&
      ::fsync(file.get()) == 0;
  // link(2) never replaces: another agent's token stays.
  const bool there = written && (::link(temporary.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int reason = errno;
  if (file) ::unlink(temporary.c_str());
  if (there) return {};
  return refused(path, strerror(reason), "name another file with --token-file");
}

}  // namespace

Result<Token> find_token(const std::string& token_file, const Environment& environment) {
  const std::string_view given = value_or(environment, kTokenVariable);
  if (!given.empty()) return checked({std::string(given), std::string(kTokenVariable)});
  if (!token_file.empty()) return read_token(token_file);
  const std::string folder = user_folder(environment, "XDG_CONFIG_HOME", ".config");
  if (folder.empty())
    return Error{Errc::bad_config,
                 "there is no home folder for the token of the agents; give --token-file FILE"};
  const std::string path = folder + "/safelaunch/token";
  if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    if (const Result<void> made = make_token(path); !made) return made.error();
  return read_token(path);
}

}  // namespace safelaunch::agree
