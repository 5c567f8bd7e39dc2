#include "safelaunch/cli/answer.h"

#include <cstdio>

namespace safelaunch {
namespace {

void say(std::string_view before, std::string_view text) {
  std::fprintf(stderr, "safelaunch: %.*s%.*s\n", static_cast<int>(before.size()), before.data(),
               static_cast<int>(text.size()), text.data());
}

}  // namespace

int answer(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
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

}  // namespace safelaunch
