#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "safelaunch/base/nearest.h"
#include "safelaunch/base/result.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/doctor/fix.h"
#include "safelaunch/doctor/render.h"

namespace safelaunch {
namespace {

using std::string_view_literals::operator""sv;

struct DoctorWords {
  bool json = false;
  bool fix = false;
  bool colour = true;
  std::vector<std::string> command;
};

Result<DoctorWords> parse(std::span<const std::string> words) {
  constexpr std::array kKnown{"--json"sv, "--fix"sv, "--no-color"sv};
  DoctorWords result;
  std::size_t i = 0;
  for (; i < words.size() && words[i].starts_with("-") && words[i] != "--"; ++i) {
    if (words[i] == "--json")
      result.json = true;
    else if (words[i] == "--fix")
      result.fix = true;
    else if (words[i] == "--no-color")
      result.colour = false;
    else
      return Error{Errc::usage, "doctor does not take '" + words[i] + "'" +
                                    did_you_mean(words[i], kKnown) +
                                    " (--json, --fix, --no-color, then a command)"};
  }
  if (i < words.size() && words[i] == "--") ++i;
  result.command.assign(words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return result;
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Subject subject_of(const DoctorWords& words) {
  Subject subject;
  subject.environment = current_environment();
  if (!words.command.empty())
    subject.command = recognise(words.command, subject.environment, read_file);
  return subject;
}

void print(const DoctorWords& words, const HostFacts& facts, std::span<const Advice> advices,
           const FixReport& fixed) {
  const Paint paint = words.colour && ::isatty(STDOUT_FILENO) != 0 ? Paint::on : Paint::off;
  std::string text =
      words.json ? advices_json(facts, advices, fixed) : render_advices(advices, paint);
  if (!words.json)
    for (const std::string& line : fixed) text += "fix: " + line + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

int verb_doctor(std::span<const std::string> words) {
  const Result<DoctorWords> parsed = parse(words);
  if (!parsed) {
    std::fprintf(stderr, "safelaunch: %s\n", parsed.error().message.c_str());
    return exit_code_of(parsed.error().code);
  }
  const HostFacts facts = read_facts(subject_of(*parsed), Depth::full);
  const std::vector<Advice> advices = examine(facts);
  print(*parsed, facts, advices, parsed->fix ? fix(advices) : FixReport{});
  const bool blocked = std::ranges::any_of(advices, blocks, &Advice::finding);
  return blocked ? exit_code_of(Errc::blocked) : 0;
}

}  // namespace safelaunch
