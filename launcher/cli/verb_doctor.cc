#include <unistd.h>

#include <algorithm>

#include "safelaunch/base/redact.h"
#include "safelaunch/base/result.h"
#include "safelaunch/cli/answer.h"
#include "safelaunch/cli/verb_options.h"
#include "safelaunch/cli/verbs.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/doctor/fix.h"
#include "safelaunch/doctor/render.h"
#include "safelaunch/report/run_directory.h"

namespace safelaunch {
namespace {

struct DoctorWords {
  bool json = false;
  bool fix = false;
  bool no_colour = false;
  std::vector<std::string> command;
};

VerbOptions doctor_verb(DoctorWords& words) {
  VerbOptions verb(
      "doctor", "[OPTIONS] [--] [COMMAND [ARG...]]",
      "Says what would make a launch fail or hang on this host, what shows it and what "
      "helps. COMMAND\nis not run; it tells which Python, port and processes to look "
      "at.",
      Rest::command);
  verb.flag("--fix", words.fix, "do what is safe to do, saying each");
  verb.flag("--json", words.json, "the findings as JSON");
  verb.flag("--no-color", words.no_colour, "plain text");
  return verb;
}

Subject subject_of(const DoctorWords& words) {
  Subject subject;
  subject.environment = current_environment();
  subject.runs = places_of_runs(subject.environment);
  if (!words.command.empty()) subject.command = recognise(words.command, subject.environment);
  return subject;
}

void print(const DoctorWords& words, const HostFacts& facts, std::span<const Advice> advices,
           const FixReport& fixed) {
  const Paint paint = !words.no_colour && ::isatty(STDOUT_FILENO) != 0 ? Paint::on : Paint::off;
  std::string text =
      words.json ? advices_json(facts, advices, fixed) : render_advices(advices, paint);
  if (!words.json)
    for (const std::string& line : fixed) text += "fix: " + line + "\n";
  Redactor redactor;
  redactor.learn(facts.subject.environment);
  redactor.learn(words.command);
  answer(redactor.redact(text));
}

}  // namespace

int verb_doctor(std::span<const std::string> words) {
  DoctorWords given;
  if (const auto status = doctor_verb(given).settle(words, given.command)) return *status;
  const HostFacts facts = read_facts(subject_of(given), Depth::full);
  const std::vector<Advice> advices = examine(facts);
  print(given, facts, advices, given.fix ? fix(advices) : FixReport{});
  const bool blocked = std::ranges::any_of(advices, blocks, &Advice::finding);
  return blocked ? exit_code_of(Errc::blocked) : 0;
}

}  // namespace safelaunch
