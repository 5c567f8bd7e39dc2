#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "safelaunch/base/unique_fd.h"

namespace safelaunch::testing {

/// All that can be read from a non-blocking descriptor now.
inline std::string read_available(int fd) {
  std::string text;
  char chunk[16 * 1024];
  for (ssize_t got = 0; (got = ::read(fd, chunk, sizeof chunk)) > 0;)
    text.append(chunk, static_cast<std::size_t>(got));
  return text;
}

/// Writes all of it, waiting for the reader where need be.
inline void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) throw std::runtime_error("write failed");
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Writes as much as is taken without waiting; returns how much that was.
inline std::size_t write_what_fits(int fd, std::string_view bytes) {
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  return written < 0 ? 0 : static_cast<std::size_t>(written);
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Two ends of something that bytes go through. Bytes that are read are collected without waiting.
struct Plumbing {
  UniqueFd writer;
  UniqueFd reader;
  std::string read() const { return read_available(reader.get()); }
};

inline Plumbing make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  return {UniqueFd(fds[1]), UniqueFd(fds[0])};
}

/// A terminal as the user has it, of 40 columns: its window reads what programs write to it.
inline Plumbing make_terminal() {
  Plumbing terminal;
  terminal.reader.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (::unlockpt(terminal.reader.get()) != 0) throw std::runtime_error("unlockpt failed");
  terminal.writer.reset(::ioctl(terminal.reader.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize size{24, 40, 0, 0};
  ::ioctl(terminal.writer.get(), TIOCSWINSZ, &size);
  return terminal;
}

/// A directory that is gone after the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "safelaunch-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace safelaunch::testing
