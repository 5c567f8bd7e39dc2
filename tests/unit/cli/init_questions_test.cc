#include "launcher/cli/verb_init.h"

#include "catch.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/config.h"
#include "safelaunch/profile/trust.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

const InitFacts kFacts{
    {"torchrun", "accelerate"}, 4, {"basic", "conservative", "gloo-fallback", "no-shm"}};

// The answers with one typed in place of its proposal.
InitAnswers with(std::size_t question, const std::string& typed) {
  const auto questions = init_questions(kFacts);
  InitAnswers answers = proposed_answers(questions);
  REQUIRE(questions.at(question).take(typed, answers).has_value());
  return answers;
}

std::string refusal(std::size_t question, const std::string& typed) {
  InitAnswers answers;
  const auto taken = init_questions(kFacts).at(question).take(typed, answers);
  return taken ? "" : taken.error().message;
}

profile::Rules rules_of(const InitAnswers& answers) {
  const auto config = profile::read_config(config_text(answers), "safelaunch.yaml");
  INFO((config ? "" : config.error().message));
  REQUIRE(config.has_value());
  return config->everywhere;
}

}  // namespace

TEST_CASE("the proposals of init come from the machine and from the table of options", "[init]") {
  const InitAnswers answers = proposed_answers(init_questions(kFacts));
  CHECK(answers.launcher == "torchrun");
  CHECK(answers.processes == "4");
  CHECK(answers.patience == "180s");
  CHECK(answers.stall == "auto");
  CHECK(start_line(answers) == "safelaunch torchrun --nproc_per_node=4 train.py");

  InitFacts bare = kFacts;
  bare.launchers.clear();
  bare.gpus = 0;
  const InitAnswers without = proposed_answers(init_questions(bare));
  CHECK(without.launcher == "safelaunch");
  CHECK(without.processes == "2");
}

TEST_CASE("the file that init writes is accepted, and needs no trust where it lies", "[init]") {
  const std::string text = config_text(proposed_answers(init_questions(kFacts)));
  CHECK_FALSE(profile::what_needs_trust(text));
  const profile::Rules rules = rules_of(proposed_answers(init_questions(kFacts)));
  CHECK(rules.chain == profile::default_chain());
  CHECK(rules.options.at("init-timeout").value == "180s");
  CHECK(rules.options.at("fail-on-slow").value == "false");
  CHECK_FALSE(rules.options.contains("nproc-per-node"));
}

TEST_CASE("each answer of init acts", "[init]") {
  CHECK(start_line(with(0, "deepspeed")) == "safelaunch deepspeed --num_gpus=4 train.py");
  CHECK(start_line(with(0, "accelerate")) ==
        "safelaunch accelerate launch --num_processes 4 train.py");
  CHECK(rules_of(with(0, "safelaunch")).options.at("nproc-per-node").value == "4");
  CHECK(start_line(with(1, "8")) == "safelaunch torchrun --nproc_per_node=8 train.py");
  CHECK(rules_of(with(2, "no-shm, basic@2")).chain ==
        std::vector<std::string>{"no-shm", "basic@2"});
  CHECK(rules_of(with(3, "No")).options.at("fail-on-slow").value == "true");
  CHECK(rules_of(with(4, "5min")).options.at("init-timeout").value == "5min");
  CHECK(rules_of(with(4, "5min")).options.at("collective-timeout").value == "5min");
  CHECK(rules_of(with(5, "10min")).options.at("stall-timeout").value == "10min");
}

TEST_CASE("an answer that says nothing is refused with what is right", "[init]") {
  CHECK(refusal(0, "torchrum") ==
        "'torchrum' is not one of torchrun, deepspeed, accelerate, safelaunch; did you mean "
        "'torchrun'?");
  CHECK(refusal(1, "0") == "'0' is not a number from 1 to 1024");
  CHECK(refusal(1, "8x") == "'8x' is not a number from 1 to 1024");
  CHECK(refusal(2, "basik").find("did you mean 'basic'?") != std::string::npos);
  CHECK(refusal(2, "./mine.yaml").find("there is no profile './mine.yaml'") == 0);
  CHECK(refusal(3, "perhaps") == "'perhaps' is neither yes nor no");
  CHECK(refusal(4, "5 parsecs").find("'5 parsecs'") != std::string::npos);
}
