#include "safelaunch/host/own_proc.h"

#include <unistd.h>

#include <charconv>

namespace safelaunch::host {

bool proc_is_ours() {
  char text[16];
  const ssize_t size = ::readlink("/proc/self", text, sizeof(text));
  int pid = 0;
  if (size > 0) std::from_chars(text, text + size, pid);
  return pid == ::getpid();
}

}  // namespace safelaunch::host
