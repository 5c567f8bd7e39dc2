#include "answer.h"
#include "help.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

int tell_version(std::span<const std::string>) {
  return answer("safelaunch " SAFELAUNCH_VERSION "\n");
}

int tell_help(std::span<const std::string>) {
  return answer(general_help());
}

}  // namespace

const Verb kVersionVerb{.name = "version", .function = tell_version, .help = "the version"};
const Verb kHelpVerb{.name = "help", .function = tell_help};

}  // namespace safelaunch::cli
