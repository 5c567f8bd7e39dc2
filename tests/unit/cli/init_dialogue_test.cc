#include <deque>

#include "catch.h"
#include "launcher/cli/verb_init.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

const InitFacts kMachine{{"torchrun"}, 2, {"basic", "conservative", "gloo-fallback", "no-shm"}};

struct Dialogue {
  std::optional<InitAnswers> answers;
  std::vector<std::string> questions;
  std::vector<std::string> complaints;
};

// Somebody who types these lines, and then ends the input.
Dialogue dialogue(std::deque<std::string> typed) {
  Dialogue result;
  const auto questions = init_questions(kMachine);
  result.answers = ask_all(
      questions,
      [&](const std::string& question) -> std::optional<std::string> {
        result.questions.push_back(question);
        if (typed.empty()) return std::nullopt;
        std::string line = std::move(typed.front());
        typed.pop_front();
        return line;
      },
      [&](const std::string& why) { result.complaints.push_back(why); });
  return result;
}

}  // namespace

TEST_CASE("who presses return at every question takes what is proposed", "[init]") {
  const Dialogue done = dialogue({"", "", "", "", "", ""});
  const InitAnswers proposed = proposed_answers(init_questions(kMachine));
  REQUIRE(done.answers);
  CHECK(config_text(*done.answers) == config_text(proposed));
  CHECK(done.questions.size() == 6);
  CHECK(done.complaints.empty());
}

TEST_CASE("a question shows its hint and its proposal", "[init]") {
  const Dialogue done = dialogue({});
  CHECK(done.questions ==
        std::vector<std::string>{"What starts the ranks of your jobs?\n"
                                 "  (torchrun, deepspeed, accelerate or safelaunch) [torchrun] "});
}

TEST_CASE("a question is asked until its answer is understood", "[init]") {
  const Dialogue done = dialogue({"mpirun", "torchrum", "accelerate", "none", "4", "", "", "", ""});
  REQUIRE(done.answers);
  CHECK(done.answers->launcher == "accelerate");
  CHECK(done.answers->processes == "4");
  CHECK(done.complaints ==
        std::vector<std::string>{
            "'mpirun' is not one of torchrun, deepspeed, accelerate, safelaunch",
            "'torchrum' is not one of torchrun, deepspeed, accelerate, safelaunch; did you mean "
            "'torchrun'?",
            "'none' is not a number from 1 to 1024"});
  CHECK(done.questions[0] == done.questions[2]);
}

TEST_CASE("blanks around an answer do not count", "[init]") {
  const Dialogue done = dialogue({"  deepspeed\t", " 8 ", " ", "", "", ""});
  REQUIRE(done.answers);
  CHECK(done.answers->launcher == "deepspeed");
  CHECK(done.answers->processes == "8");
  CHECK(done.complaints.empty());
}

TEST_CASE("q at any question, or the end of the input, means that nothing is written", "[init]") {
  for (std::size_t answered = 0; answered < 6; ++answered) {
    INFO(answered);
    std::deque<std::string> typed(answered, "");
    CHECK_FALSE(dialogue(typed).answers);
    typed.emplace_back(" q ");
    CHECK_FALSE(dialogue(typed).answers);
  }
}

TEST_CASE("every answer that is proposed is accepted on every machine", "[init]") {
  for (const int gpus : {0, 1, 8, 1024})
    for (const auto& launchers :
         {std::vector<std::string>{}, std::vector<std::string>{"accelerate"},
          std::vector<std::string>{"deepspeed", "torchrun"}}) {
      InitFacts facts = kMachine;
      facts.gpus = gpus;
      facts.launchers = launchers;
      for (const InitQuestion& question : init_questions(facts)) {
        InitAnswers answers;
        INFO(question.text);
        CHECK(question.take(question.proposal, answers).has_value());
      }
    }
}

TEST_CASE("yes and no are understood in any case, and by their letters", "[init]") {
  const InitQuestion slow = init_questions(kMachine)[3];
  for (const auto& [typed, meant] :
       {std::pair{"y", true}, std::pair{"YES", true}, std::pair{"Yes", true}, std::pair{"n", false},
        std::pair{"NO", false}}) {
    InitAnswers answers;
    answers.slow = !meant;
    REQUIRE(slow.take(typed, answers).has_value());
    CHECK(answers.slow == meant);
  }
  for (const char* typed : {"", "ye", "nope", "true", "1", "yes no"}) {
    InitAnswers answers;
    INFO(typed);
    CHECK(slow.take(typed, answers).has_error());
  }
}

TEST_CASE("off is written as zero, since a bare off is no word to YAML", "[init]") {
  InitAnswers answers;
  const auto questions = init_questions(kMachine);
  REQUIRE(questions[4].take("off", answers).has_value());
  REQUIRE(questions[5].take("off", answers).has_value());
  CHECK(answers.patience == "0");
  CHECK(answers.stall == "0");
}

TEST_CASE("the number of ranks begins with one and ends with 1024", "[init]") {
  const InitQuestion ranks = init_questions(kMachine)[1];
  InitAnswers answers;
  for (const char* typed : {"1", "1024"}) CHECK(ranks.take(typed, answers).has_value());
  for (const char* typed : {"0", "1025", "-1", "2.5", "gpu", "", "99999999999"}) {
    INFO(typed);
    CHECK(ranks.take(typed, answers).has_error());
  }
}

TEST_CASE("a file that is there is written over only where that is asked for", "[init]") {
  const std::string file = "./safelaunch.yaml";
  const auto refusal = [&](InFile there, bool force) {
    const auto may = check_overwriting(file, there, force);
    return may ? std::string("written") : may.error().message;
  };
  CHECK(refusal(InFile::nothing, false) == "written");
  CHECK(refusal(InFile::nothing, true) == "written");
  CHECK(refusal(InFile::text, true) == "written");
  CHECK(refusal(InFile::text, false) ==
        "./safelaunch.yaml exists and was left as it is; --force overwrites it");
  CHECK(refusal(InFile::something_else, false) ==
        "./safelaunch.yaml exists and was left as it is; --force overwrites it");
  CHECK(refusal(InFile::something_else, true) ==
        "./safelaunch.yaml is no regular file; it was left as it is");
}

TEST_CASE("the file shows how to start a job, and how to see its plan", "[init]") {
  InitAnswers answers = proposed_answers(init_questions(kMachine));
  CHECK_THAT(config_text(answers),
             Catch::Matchers::ContainsSubstring(
                 "# Start a job:    safelaunch torchrun --nproc_per_node=2 train.py\n"
                 "# See its plan:   safelaunch --dry-run torchrun --nproc_per_node=2 train.py\n"));
  answers.launcher = "safelaunch";
  CHECK_THAT(
      config_text(answers),
      Catch::Matchers::ContainsSubstring("# See its plan:   safelaunch --dry-run train.py\n") &&
          Catch::Matchers::ContainsSubstring("\n  nproc-per-node: 2\n"));
}
