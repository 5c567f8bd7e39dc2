#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>

#include "answer.h"
#include "init_questions.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/private_file.h"
#include "verbs.h"

// `init` asks on the terminal and writes the file; init_questions.h has the questions and the text.
namespace safelaunch::cli {
namespace {

constexpr int kNothingWritten = 130;  // as after Ctrl-C at a question

struct InitWords {
  bool yes = false;
  bool force = false;
  bool user = false;
};

constexpr std::array kInitOptions{
    settings::Option{.name = "yes",
                     .letter = 'y',
                     .put = settings::put_into<&InitWords::yes>,
                     .help = "ask nothing: take what is proposed for this machine"},
    settings::Option{.name = "force",
                     .put = settings::put_into<&InitWords::force>,
                     .help = "write over a file that is there"},
    settings::Option{.name = "user",
                     .put = settings::put_into<&InitWords::user>,
                     .help = "for all your jobs (~/.config/safelaunch), not for this folder"},
};

InitFacts read_init_facts(const Environment& environment) {
  InitFacts facts;
  facts.gpus = host::read_identity().gpus;
  facts.profiles = profile::ProfileLibrary::standard(environment).names();
  for (const char* launcher : {"torchrun", "deepspeed", "accelerate"})
    if (launch::find_program(launcher, environment)) facts.launchers.emplace_back(launcher);
  return facts;
}

Result<std::string> file_to_write(const InitWords& given, const Environment& environment) {
  const std::string folder = given.user ? profile::user_config_folder(environment) : ".";
  if (folder.empty())
    return Error{Errc::usage, "--user: neither HOME nor XDG_CONFIG_HOME names a folder"};
  std::string file = folder + "/safelaunch.yaml";
  struct stat there {};
  if (::lstat(file.c_str(), &there) != 0) return file;
  if (!given.force)
    return Error{
        Errc::usage,
        fmt::format("{} is there already and stays as it is; --force writes over it", file)};
  if (S_ISREG(there.st_mode)) return file;
  return Error{Errc::usage, fmt::format("{} is no regular file, so it stays as it is", file)};
}

void ask(const InitQuestion& question) {
  const std::string text =
      fmt::format("{}\n  ({}) [{}] ", question.text, question.hint, question.proposal);
  std::fputs(text.c_str(), stderr);
}

// None where the user wants nothing written: q, or the end of the input.
std::optional<InitAnswers> ask_all(std::span<const InitQuestion> questions) {
  InitAnswers answers;
  for (const InitQuestion& question : questions) {
    for (bool taken = false; !taken;) {
      ask(question);
      std::string line;
      if (!std::getline(std::cin, line) || trimmed(line) == "q") return std::nullopt;
      const std::string answer(trimmed(line));
      const auto took = question.take(answer.empty() ? question.proposal : answer, answers);
      taken = took.has_value();
      if (!taken) warn(took.error().message);
    }
  }
  return answers;
}

int write(const std::string& file, const InitAnswers& answers) {
  if (const auto written = profile::replace_private_file(file, config_text(answers)); !written)
    return refuse(written.error());
  return answer(fmt::format("wrote {}\nstart a job: {}\n", file, start_line(answers)));
}

int write_config(std::span<const std::string> words) {
  InitWords given;
  std::vector<std::string> rest;
  if (const auto status = settle(kInitVerb, words, &given, rest)) return *status;
  if (!rest.empty()) return refuse({Errc::usage, "init takes no '" + rest.front() + "'"});
  const Environment environment = current_environment();
  const Result<std::string> file = file_to_write(given, environment);
  if (!file) return refuse(file.error());
  const auto questions = init_questions(read_init_facts(environment));
  if (given.yes) return write(*file, proposed_answers(questions));
  if (isatty(STDIN_FILENO) == 0 || isatty(STDERR_FILENO) == 0)
    return refuse({Errc::usage,
                   "init asks on the terminal, and there is none; --yes takes what is "
                   "proposed for this machine"});
  const auto answers = ask_all(questions);
  if (answers) return write(*file, *answers);
  warn("nothing was written");
  return kNothingWritten;
}

}  // namespace

const Verb kInitVerb{
    .name = "init",
    .function = write_config,
    .help = "a few questions, and safelaunch.yaml is written",
    .usage = "[OPTIONS]",
    .purpose =
        "Asks how your jobs are started, what they may try and how long they may wait, proposes "
        "what fits this machine, and writes safelaunch.yaml with comments. A file that is there is "
        "never changed without --force. q ends it, and nothing is written.",
    .example = "safelaunch init\nsafelaunch init --yes --user",
    .options = kInitOptions};

}  // namespace safelaunch::cli
