#include <unistd.h>

#include <algorithm>

#include "answer.h"
#include "safelaunch/base/redact.h"
#include "safelaunch/base/result.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/doctor/fix.h"
#include "safelaunch/doctor/render.h"
#include "safelaunch/report/run_directory.h"
#include "verb_options.h"
#include "verbs.h"

namespace safelaunch::cli {
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

doctor::Subject subject_of(const DoctorWords& words) {
  doctor::Subject subject;
  subject.environment = current_environment();
  subject.runs = report::places_of_runs(subject.environment);
  if (!words.command.empty()) subject.command = job::recognise(words.command, subject.environment);
  return subject;
}

void print(const DoctorWords& words, const doctor::HostFacts& facts,
           std::span<const doctor::Advice> advices, const doctor::FixReport& fixed) {
  const doctor::Paint paint =
      !words.no_colour && ::isatty(STDOUT_FILENO) != 0 ? doctor::Paint::on : doctor::Paint::off;
  std::string text = words.json ? doctor::advices_json(facts, advices, fixed)
                                : doctor::render_advices(advices, paint);
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
  const doctor::HostFacts facts = doctor::read_facts(subject_of(given), doctor::Depth::full);
  const std::vector<doctor::Advice> advices = doctor::examine(facts);
  print(given, facts, advices, given.fix ? doctor::fix(advices) : doctor::FixReport{});
  const bool blocked = std::ranges::any_of(advices, doctor::blocks, &doctor::Advice::finding);
  return blocked ? exit_code_of(Errc::blocked) : 0;
}

}  // namespace safelaunch::cli
