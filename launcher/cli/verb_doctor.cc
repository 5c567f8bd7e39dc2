#include <algorithm>
#include <array>

#include "safelaunch/doctor/examine.h"
#include "safelaunch/plan/typed_command.h"
#include "safelaunch/redact/redactor.h"
#include "safelaunch/report/run_directory.h"
#include "verb_texts.h"
#include "verb_wishes.h"
#include "verbs.h"

// The doctor looks at the host, and at the command's Python where there is a command. The status
// tells whether a finding would block a run, so that a script can ask before it starts one.
namespace safelaunch::cli {
namespace {

constexpr std::array kDoctorOptions{
    settings::Option{.name = "fix",
                     .put = settings::put_into<&DoctorWords::fix>,
                     .help = "fix what is safe to fix, and say what was done"},
    settings::Option{.name = "json",
                     .put = settings::put_into<&DoctorWords::json>,
                     .help = "the findings as JSON"},
};

doctor::Subject subject_of(const DoctorWords& words) {
  doctor::Subject subject;
  subject.environment = current_environment();
  subject.runs = report::places_of_runs(subject.environment);
  if (!words.command.empty()) subject.command = job::recognise(words.command, subject.environment);
  if (subject.command)
    subject.missing_files = plan::missing_files(*subject.command, subject.environment);
  return subject;
}

int examine_host(DoctorWords& given, std::vector<std::string>& rest) {
  given.command = std::move(rest);
  // A script alone means what it means to a run.
  if (auto command = plan::spelled_out({given.command}, current_environment()))
    given.command = *std::move(command);
  const doctor::HostFacts facts = doctor::read_facts(subject_of(given), doctor::Depth::full);
  const std::vector<doctor::Advice> advices = doctor::examine(facts);
  const doctor::FixReport fixed = given.fix ? doctor::fix(advices) : doctor::FixReport{};
  const std::string text = doctor_text(given, facts, advices, fixed);
  given.json ? answer(text) : answer_in_prose(text);
  return is_blocked(advices) ? exit_code_of(Errc::blocked) : 0;
}

}  // namespace

bool is_blocked(std::span<const doctor::Advice> advices) {
  return std::ranges::any_of(advices, doctor::blocks, &doctor::Advice::finding);
}

std::string doctor_text(const DoctorWords& words, const doctor::HostFacts& facts,
                        std::span<const doctor::Advice> advices, const doctor::FixReport& fixed) {
  std::string text;
  if (words.json) {
    text = doctor::advices_json(facts, advices, fixed);
  } else {
    text = doctor::render_looked_at(doctor::looked_at(facts, advices)) +
           doctor::render_advices(advices);
    for (const std::string& line : fixed) text += "fix: " + line + "\n";
  }
  redact::Redactor redactor;
  redactor.learn(facts.subject.environment);
  redactor.learn(words.command);
  return redactor.redact(text);
}

const Verb kDoctorVerb{.name = "doctor",
                       .function = reads<DoctorWords, examine_host>,
                       .help = "checks before a launch: [--fix] [COMMAND]",
                       .usage = "[OPTIONS] [--] [COMMAND [ARG...]]",
                       .purpose =
                           "Says what would make a launch fail or hang on this host, with the "
                           "evidence and the remedy. doctor does not run COMMAND; it only reads "
                           "which Python, port and processes to check.",
                       .example = "safelaunch doctor torchrun --nproc_per_node=4 train.py",
                       .options = kDoctorOptions,
                       .rest = settings::Rest::command};

}  // namespace safelaunch::cli
