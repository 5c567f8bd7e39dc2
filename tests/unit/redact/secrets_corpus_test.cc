#include <iostream>

#include "catch.h"
#include "safelaunch/redact/redactor.h"
#include "secrets_corpus.h"

using namespace safelaunch;
using namespace safelaunch::redact;
using safelaunch::testing::Canary;
using safelaunch::testing::leak_of;
using safelaunch::testing::SecretsCorpus;

namespace {

SecretsCorpus corpus() {
  return SecretsCorpus(SAFELAUNCH_SECRETS_DIR);
}

}  // namespace

TEST_CASE("no canary of the corpus is left in a text", "[redact][corpus]") {
  const std::vector<Canary> canaries = corpus().canaries();
  REQUIRE(canaries.size() >= 400);
  const Redactor redactor;
  for (const Canary& canary : canaries) {
    const std::string shown = redactor.redact(canary.text);
    for (const std::string& secret : canary.secrets) {
      INFO(canary.form << ": " << canary.text << "\nbecame " << shown);
      CHECK(leak_of(secret, shown).empty());
    }
  }
}

TEST_CASE("a text of the corpus that was redacted stays as it is", "[redact][corpus]") {
  const Redactor plain;
  for (const Canary& canary : corpus().canaries()) {
    INFO(canary.form << ": " << canary.text);
    Redactor learned;
    learned.learn(canary.text);
    for (const Redactor* redactor : {&plain, &std::as_const(learned)}) {
      const std::string once = redactor->redact(canary.text);
      CHECK(redactor->redact(once) == once);
    }
  }
}

TEST_CASE("a canary that stands among a job's lines leaves these lines", "[redact][corpus]") {
  const std::string before = "rank 3 (pid 4242, node3) waits in all_reduce\n";
  const std::string behind = "\nRuntimeError: NCCL error, rank 5 has not arrived\n";
  const Redactor redactor;
  for (const Canary& canary : corpus().canaries()) {
    if (canary.text.find('\n') != std::string::npos) continue;
    INFO(canary.form << ": " << canary.text);
    const std::string shown = redactor.redact(before + canary.text + behind);
    CHECK(shown.starts_with(before));
    CHECK(shown.ends_with(behind));
  }
}

TEST_CASE("what holds no secret stays as it is", "[redact][corpus]") {
  const std::vector<std::string> lines = corpus().innocent();
  REQUIRE(lines.size() >= 200);
  const Redactor redactor;
  for (const std::string& line : lines) CHECK(redactor.redact(line) == line);
}
