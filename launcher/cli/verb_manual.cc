#include "answer.h"
#include "manual.h"
#include "verbs.h"

namespace safelaunch::cli {
namespace {

int write_manual(std::span<const std::string> words) {
  std::vector<std::string> rest;
  if (const auto status = settle(kManualVerb, words, nullptr, rest)) return *status;
  if (!rest.empty()) return refuse({Errc::usage, "manual takes no '" + rest.front() + "'"});
  return answer(manual_page());
}

}  // namespace

const Verb kManualVerb{.name = "manual",
                       .function = write_manual,
                       .help = "the man page: safelaunch manual | man -l -",
                       .purpose = "The man page as troff: `safelaunch manual | man -l -`."};

}  // namespace safelaunch::cli
