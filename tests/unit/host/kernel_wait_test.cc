#include "safelaunch/host/activity.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;

// The calls that Python 3.11 and gloo of torch 2.13 showed on Linux 6.18, x86-64.
#ifdef __x86_64__

TEST_CASE("only a thread of the process ends a wait for its own futex, only a child one for it") {
  const auto [call, function] = GENERATE(table<const char*, const char*>({
      {"202 0x563e4cbbc060 0x189 0x0 0x0 0x0 0xffffffff 0x7f 0x7f", "futex_do_wait"},
      {"61 0x21b2 0x7ffe0eace29c 0x0 0x0 0x0 0x0 0x7f 0x7f", "do_wait"},
      {"247 0x0 0x21b2 0x7ffe0eace29c 0x1000004 0x0 0x0 0x7f 0x7f", "do_wait"},
  }));
  CAPTURE(call, function);
  CHECK(kind_of_wait(call, function) == WaitKind::inner);
}

TEST_CASE("what a wait without a timeout is for may come from outside of the process") {
  const auto [call, function] = GENERATE(table<const char*, const char*>({
      {"202 0x7f1e4cbbc000 0x109 0x0 0x0 0x0 0xffffffff 0x7f 0x7f", "futex_do_wait"},
      {"45 0x3 0x7fe122a674d0 0x1 0x0 0x0 0x0 0x7f 0x7f", "unix_stream_read_generic"},
      {"45 0x4 0x7fce99dbed80 0x1 0x0 0x0 0x0 0x7f 0x7f", "wait_woken"},
      {"288 0x3 0x7ffe932be570 0x7ffe932be564 0x80000 0x0 0x0 0x7f 0x7f", "inet_csk_accept"},
      {"7 0x560bf6d7cb00 0x0 0xffffffff 0x0 0x0 0x0 0x7f 0x7f",
       "poll_schedule_timeout.constprop.0"},
      {"270 0x0 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "poll_schedule_timeout.constprop.0"},
      {"281 0x3 0x7f60f7910b10 0x400 0xffffffff 0x0 0x8 0x7f 0x7f", "do_epoll_wait"},
      {"0 0x3 0x7f1d02322d80 0x1 0x5577a0ebcf30 0x0 0x0 0x7f 0x7f", "anon_pipe_read"},
      {"128 0x7ffcbc920b30 0x7ffcbc9209f0 0x0 0x8 0x0 0x0 0x7f 0x7f", "do_sigtimedwait.isra.0"},
      {"34 0x7f565f94e6f8 0x0 0x0 0x0 0x0 0x0 0x7f 0x7f", "__do_sys_pause"},
  }));
  CAPTURE(call, function);
  CHECK(kind_of_wait(call, function) == WaitKind::outer);
}

TEST_CASE("a sleep, and a wait that gave a timeout, end by themselves") {
  const auto [call, function] = GENERATE(table<const char*, const char*>({
      {"230 0x1 0x1 0x7fff397ee1c0 0x0 0x0 0x0 0x7f 0x7f", "hrtimer_nanosleep"},
      {"219 0x1 0x1 0x7fff397ee1c0 0x0 0x0 0x0 0x7f 0x7f", "hrtimer_nanosleep"},
      {"202 0x56205913e060 0x89 0x0 0x7ffd76ff1dd0 0x0 0xffffffff 0x7f 0x7f", "futex_do_wait"},
      {"7 0x7fff8f05e1c8 0x1 0x36ee80 0x0 0x0 0x0 0x7f 0x7f", "poll_schedule_timeout.constprop.0"},
      {"270 0x0 0x0 0x0 0x0 0x7ffe69217180 0x0 0x7f 0x7f", "poll_schedule_timeout.constprop.0"},
      {"232 0x6 0x7f20d0213b80 0x40 0xa 0x0 0x0 0x7f 0x7f", "do_epoll_wait"},
  }));
  CAPTURE(call, function);
  CHECK(kind_of_wait(call, function) == WaitKind::timed);
}

TEST_CASE("a lock on a file is told from other calls of the same number") {
  CHECK(kind_of_wait("73 0x4 0x2 0x0 0x7f 0x0 0x0 0x7f 0x7f", "locks_lock_inode_wait") ==
        WaitKind::lock);
  CHECK(kind_of_wait("72 0x4 0x7 0x7ffd 0x7f 0x0 0x0 0x7f 0x7f", "fcntl_setlk") == WaitKind::lock);
  CHECK(kind_of_wait("72 0x4 0x3 0x0 0x7f 0x0 0x0 0x7f 0x7f", "") == WaitKind::outer);
}

TEST_CASE("the descriptor that is read is told by the call") {
  const auto descriptor = [](const char* call) {
    const auto input = awaited_input(call);
    return input ? input->descriptor : -1;
  };
  CHECK(descriptor("0 0x3 0x7f1d02322d80 0x1 0x5577a0ebcf30 0x0 0x0 0x7f 0x7f") == 3);
  CHECK(descriptor("45 0x3 0x7fe122a674d0 0x1 0x0 0x0 0x0 0x7f 0x7f") == 3);  // recvfrom
  // As readline waits at a prompt.
  CHECK(descriptor("270 0x1 0x7ffe69217100 0x0 0x0 0x0 0x7ffe692170f0 0x7f 0x7f") == 0);
  CHECK(awaited_input("281 0x5 0x7f60f7910b10 0x400 0xffffffff 0x0 0x8 0x7f 0x7f")->is_epoll);
  CHECK(descriptor("270 0x0 0x0 0x0 0x0 0x7ffe69217180 0x0 0x7f 0x7f") == -1);
  CHECK(descriptor("1 0x1 0x7f1d02322d80 0x1 0x0 0x0 0x0 0x7f 0x7f") == -1);
  CHECK(descriptor("running") == -1);
}

#endif

TEST_CASE("where the call cannot be read, the kernel's function decides as far as it can") {
  CHECK(kind_of_wait("", "hrtimer_nanosleep") == WaitKind::timed);
  CHECK(kind_of_wait("", "locks_lock_inode_wait") == WaitKind::lock);
  CHECK(kind_of_wait("", "unix_stream_read_generic") == WaitKind::outer);
  CHECK(kind_of_wait("", "do_wait") == WaitKind::inner);
  CHECK(kind_of_wait("", "poll_schedule_timeout.constprop.0") == WaitKind::unknown);
  CHECK(kind_of_wait("", "futex_do_wait") == WaitKind::unknown);
  CHECK(kind_of_wait("", "0") == WaitKind::unknown);
  CHECK(kind_of_wait("running", "") == WaitKind::unknown);
}

TEST_CASE("a call that is torn or is none is judged by the kernel's function alone") {
  for (const char* call : {"", "running", "-1 0x7ffd 0x7f", "-1"}) {
    CHECK(kind_of_wait(call, "hrtimer_nanosleep") == WaitKind::timed);
    CHECK(kind_of_wait(call, "") == WaitKind::unknown);
    CHECK_FALSE(awaited_input(call));
  }
}

TEST_CASE("functions whose names tell nothing of a timeout leave the wait unknown") {
  for (const char* function : {"do_sys_poll", "do_epoll_wait", "core_sys_select",
                               "futex_wait_queue", "futex_wait_queue_me", "do_sigtimedwait.isra.0"})
    CHECK(kind_of_wait("", function) == WaitKind::unknown);
  for (const char* function : {"wait_woken", "pipe_read", "anon_pipe_read", "inet_csk_accept"})
    CHECK(kind_of_wait("", function) == WaitKind::outer);
}
