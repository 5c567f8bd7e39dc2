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

TEST_CASE("what holds no secret stays as it is", "[redact][corpus]") {
  const std::vector<std::string> lines = corpus().innocent();
  REQUIRE(lines.size() >= 200);
  const Redactor redactor;
  for (const std::string& line : lines) CHECK(redactor.redact(line) == line);
}
