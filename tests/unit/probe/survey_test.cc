#include "safelaunch/probe/survey.h"

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::probe;
using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::TemporaryFolder;

namespace {

/// A shell script in the place of safelaunch-probe, and the survey's reading of it.
class Helper {
 public:
  explicit Helper(const std::string& body)
      : program_(folder_.write("probe", "#!/bin/sh\n" + body + "\n", 0700)) {}

  [[nodiscard]] Result<NcclSurvey> nccl() const {
    return survey_nccl(program_, "libnccl.so.2", current_environment());
  }

 private:
  TemporaryFolder folder_;
  std::string program_;
};

std::string refusal(const auto& survey) {
  return survey.has_error() ? survey.error().message : "accepted";
}

}  // namespace

TEST_CASE("a libnccl tells its version, and where ranks would meet", "[survey]") {
  const auto survey = Helper(R"(
echo "node7:42:42 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.7<0>" >&2
echo '{"nccl":"2.27.5"}'; echo '{"done":true}')")
                          .nccl();
  REQUIRE(survey.has_value());
  CHECK(survey->version == nccl::Version{2, 27, 5});
  CHECK(survey->interface == "eth0");
  CHECK(survey->address == "10.0.0.7");
  CHECK(survey->failure.empty());
}

TEST_CASE("a libnccl that finds no interface is a survey that says why", "[survey]") {
  const auto survey = Helper(R"(
echo '{"nccl":"2.27.5"}'; echo '{"failed":"no socket interface found"}')")
                          .nccl();
  REQUIRE(survey.has_value());
  CHECK(survey->failure == "no socket interface found");
}

TEST_CASE("a libnccl that cannot be loaded is an error", "[survey]") {
  CHECK(refusal(Helper(R"(echo '{"failed":"libnccl.so.2: wrong ELF class"}')").nccl()) ==
        "libnccl.so.2: wrong ELF class");
  CHECK_THAT(refusal(Helper("kill -SEGV $$").nccl()),
             ContainsSubstring("libnccl.so.2: killed by SIGSEGV"));
}

TEST_CASE("lines of others around NCCL's answer are no answer", "[survey]") {
  const auto survey =
      Helper(R"(echo '{"hello": 1}'; echo '{"nccl":"2.28.9"}'; echo '{"unique_id":true}')").nccl();
  REQUIRE(survey.has_value());
  CHECK(survey->version == nccl::Version{2, 28, 9});
  CHECK(survey->failure.empty());
}

TEST_CASE("a libnccl that dies as it makes an id is a survey that says how", "[survey]") {
  const auto survey = Helper(R"(echo '{"nccl":"2.28.9"}'; kill -SEGV $$)").nccl();
  REQUIRE(survey.has_value());
  CHECK(survey->version == nccl::Version{2, 28, 9});
  CHECK_THAT(survey->failure, ContainsSubstring("SIGSEGV"));
}

TEST_CASE("an answer without NCCL's version is an error with words", "[survey]") {
  CHECK_THAT(refusal(Helper(R"(echo '{"hello": 1}'; exit 3)").nccl()),
             ContainsSubstring("libnccl.so.2: exit status 3"));
}
