#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "safelaunch/host/process_facts.h"

namespace safelaunch::testing {

/// A process of the test, in a process group of its own, or in a session: runs `body` after it has
/// said that it is there, and is killed with its group and reaped when this object goes.
class Child {
 public:
  enum class Leads { group, session };

  explicit Child(const std::function<void()>& body, Leads leads = Leads::group) {
    std::array<int, 2> ready{};
    if (::pipe(ready.data()) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      leads == Leads::group ? ::setpgid(0, 0) : ::setsid();
      ::close(ready[0]);
      static_cast<void>(::write(ready[1], "r", 1));
      ::close(ready[1]);
      body();
      ::_exit(0);
    }
    ::close(ready[1]);
    char byte = 0;
    static_cast<void>(::read(ready[0], &byte, 1));
    ::close(ready[0]);
    id_ = host::facts_of(pid_).value_or(host::ProcessFacts{}).id;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] ProcessId id() const { return id_; }

  /// Kills it and what it started, and waits until it is reaped.
  void end() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  int pid_ = 0;
  ProcessId id_;
};

/// For a Child's body: the main thread ends, as by pthread_exit, and another one lives on.
[[noreturn]] inline void leave_to_another_thread() {
  pthread_t thread{};
  ::pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        for (;;) ::pause();
      },
      nullptr);
  for (;;) ::syscall(SYS_exit, 0);
}

/// Looks until `condition` holds; false where it never does. For states that the kernel reaches
/// soon, without telling anybody.
inline bool eventually(const std::function<bool()>& condition) {
  constexpr int kLooks = 5000;
  for (int look = 0; look < kLooks; ++look) {
    if (condition()) return true;
    ::usleep(1000);
  }
  return false;
}

}  // namespace safelaunch::testing
