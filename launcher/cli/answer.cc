#include "answer.h"

#include <cstdio>

#include "harmless.h"

namespace safelaunch::cli {
namespace {

void say(std::string_view before, std::string_view text) {
  const std::string shown = harmless(text);
  std::fprintf(stderr, "safelaunch: %.*s%s\n", static_cast<int>(before.size()), before.data(),
               shown.c_str());
}

}  // namespace

int answer(std::string_view text) {
  const std::string shown = harmless(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);  // the next part may take half a minute
  return 0;
}

int refuse(const Error& error) {
  say("", error.message);
  return exit_code_of(error.code);
}

void warn(std::string_view text) {
  say("warning: ", text);
}

}  // namespace safelaunch::cli
