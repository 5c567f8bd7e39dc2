#include "program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "catch.h"

namespace safelaunch::testing {
namespace {

constexpr int kPatienceMs = 30'000;

struct Pipe {
  UniqueFd read, write;
};

Pipe make_pipe() {
  int fds[2];
  REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

int start(const std::vector<std::string>& argv, int in, int out) {
  std::vector<char*> pointers;
  for (const std::string& word : argv) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, pointers[0], &actions, &attributes, pointers.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  REQUIRE(error == 0);
  return pid;
}

}  // namespace

std::string victim(const std::string& name) {
  return std::string(SAFELAUNCH_VICTIMS_DIR) + "/victim_" + name;
}

Program::Program(const std::vector<std::string>& argv) {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  pid_ = start(argv, in.read.get(), out.write.get());
  stdin_ = std::move(in.write);
  stdout_ = std::move(out.read);
}

Program::~Program() {
  if (reaped_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool Program::read_more() {
  pollfd readable{stdout_.get(), POLLIN, 0};
  REQUIRE(::poll(&readable, 1, kPatienceMs) == 1);
  char piece[4096];
  const ssize_t size = ::read(stdout_.get(), piece, sizeof(piece));
  if (size > 0) text_.append(piece, static_cast<std::size_t>(size));
  return size > 0;
}

std::string Program::line() {
  while (text_.find('\n') == std::string::npos)
    if (!read_more()) FAIL("the program's output has ended; the rest is '" << text_ << "'");
  const std::size_t end = text_.find('\n');
  const std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

int Program::number_after(const std::string& word) {
  const std::string said = line();
  INFO("the program said: " << said);
  REQUIRE(said.rfind(word + " ", 0) == 0);
  return std::stoi(said.substr(word.size()));
}

bool Program::nobody_left() {
  while (read_more()) continue;
  return true;
}

ExitStatus Program::wait() {
  int status = 0;
  REQUIRE(::waitpid(pid_, &status, 0) == pid_);
  reaped_ = true;
  return *exit_status_from_wait(status);
}

int Program::wait_stopped() {
  int status = 0;
  REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
  reaped_ = !WIFSTOPPED(status);
  REQUIRE(WIFSTOPPED(status));
  return WSTOPSIG(status);
}

char state_of(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? 'X' : text[name_end + 2];
}

bool becomes(int pid, const std::string& states) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (states.find(state_of(pid)) == std::string::npos) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace safelaunch::testing
