#include "private_etcd.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <vector>

namespace safelaunch::agree::testing {
namespace {

constexpr int kMostStarts = 5;

/// A socket on loopback; port 0: any that is free.
int loopback_socket(int& port, bool connects) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto* address = reinterpret_cast<sockaddr*>(&where);
  socklen_t size = sizeof where;
  const int done = connects ? ::connect(fd, address, size) : ::bind(fd, address, size);
  if (done == 0 && !connects) {
    ::getsockname(fd, address, &size);
    port = ntohs(where.sin_port);
  }
  if (done == 0) return fd;
  ::close(fd);
  return -1;
}

bool listens(int port) {
  const int fd = loopback_socket(port, true);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

/// Two ports that nobody else holds now.
std::pair<int, int> free_ports() {
  int one = 0;
  int other = 0;
  const int first = loopback_socket(one, false);
  const int second = loopback_socket(other, false);
  ::close(first);
  ::close(second);
  return {one, other};
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* const pipe = ::popen(command.c_str(), "r");
  char block[4096];
  while (const std::size_t got = std::fread(block, 1, sizeof block, pipe)) text.append(block, got);
  ::pclose(pipe);
  return text;
}

}  // namespace

PrivateEtcd& PrivateEtcd::instance() {
  static PrivateEtcd etcd;
  return etcd;
}

PrivateEtcd::PrivateEtcd() {
  for (const std::string program : {"etcd", "etcdctl"})
    if (output_of("command -v " + program).empty()) {
      why_not_ = program + " is not installed (Debian: etcd-server, etcd-client)";
      return;
    }
  std::string pattern = std::filesystem::temp_directory_path() / "safelaunch-etcd-XXXXXX";
  folder_ = ::mkdtemp(pattern.data());
  for (int i = 0; i < kMostStarts; ++i)
    if (start()) return;
  why_not_ = "etcd does not start here; the last log was in " + folder_;
}

PrivateEtcd::~PrivateEtcd() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

/// False where it ends at once: somebody else has taken a port meanwhile.
bool PrivateEtcd::start() {
  const auto [port, peer_port] = free_ports();
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  const std::string peers = "http://127.0.0.1:" + std::to_string(peer_port);
  const std::vector<std::string> words{"etcd",
                                       "--data-dir=" + folder_ + "/data",
                                       "--listen-client-urls=" + url,
                                       "--advertise-client-urls=" + url,
                                       "--listen-peer-urls=" + peers,
                                       "--initial-advertise-peer-urls=" + peers,
                                       "--initial-cluster=default=" + peers};
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const std::string log = folder_ + "/log";
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) _exit(1);
    const int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    ::execvp("etcd", argv.data());
    _exit(127);
  }
  address_ = "127.0.0.1:" + std::to_string(port);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < limit) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) break;
    if (listens(port)) return true;
    ::usleep(10'000);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
  std::filesystem::remove_all(folder_ + "/data");
  return false;
}

std::string PrivateEtcd::keys_under(const std::string& prefix) const {
  return output_of("ETCDCTL_API=3 etcdctl --endpoints=http://" + address_ +
                   " get --prefix --keys-only " + prefix);
}

}  // namespace safelaunch::agree::testing
