#include "launcher/diagnose/log_end.h"

#include "catch.h"
#include "safelaunch/diagnose/explain.h"

using namespace safelaunch::diagnose;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the log that ends as DeepSpeed starts is known, whatever came before", "[log_end]") {
  const std::string log =
      "nohup: ignoring input\nwandb: Tracking run\n"
      "[2026-01-01 10:00:00,123] [INFO] [real_accelerator.py:222:get_accelerator] Setting "
      "ds_accelerator to cuda (auto detect)\n\n";
  CHECK(at_the_end_of(log) == "The log ends while DeepSpeed starts, before its first collective.");
  CHECK_THAT(explain_log(log, Catalogue::builtin()),
             ContainsSubstring("The log ends while DeepSpeed starts") &&
                 ContainsSubstring("safelaunch stacks"));
}

TEST_CASE("a line that more than two others follow is history", "[log_end]") {
  const std::string start = "Setting ds_accelerator to cuda (auto detect)\n";
  CHECK_FALSE(at_the_end_of(start + "one\ntwo\n").empty());
  CHECK(at_the_end_of(start + "one\ntwo\nthree\n").empty());
  CHECK(at_the_end_of("").empty());
  CHECK(at_the_end_of("\n\n").empty());
}

TEST_CASE("a log in which a cause shows is told by that, however it ends", "[log_end]") {
  const std::string text = explain_log(
      "RuntimeError: CUDA out of memory\nSetting ds_accelerator to cuda\n", Catalogue::builtin());
  CHECK_THAT(text, !ContainsSubstring("The log ends"));
}
