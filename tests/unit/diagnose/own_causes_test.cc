#include "safelaunch/diagnose/catalogue.h"

#include <algorithm>

#include "catch.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/diagnose/explain.h"
#include "temporary_folder.h"
#include "test_data.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using safelaunch::testing::TemporaryFolder;

namespace {

constexpr const char* kFabric = R"(
- id: our-fabric
  title: the fabric manager of cluster X is being restarted
  retry: passes-by-itself
  backoff: 20s
  patterns: ['fabric X is in maintenance']
  remedy: Ask in the channel of the cluster.
)";

constexpr const char* kOwnWords = R"(
- id: shm-small
  title: your container has too little shared memory
  retry: never
  patterns: ['failed to extend /dev/shm/nccl-']
  remedy: Use the template big-shm.
)";

// The first block of YAML in a page of Markdown, without its indentation.
std::string yaml_block(std::string_view page) {
  constexpr std::string_view kIndent = "    ";
  std::string block;
  page.remove_prefix(std::min(page.find("    - id: "), page.size()));
  while (page.starts_with(kIndent)) {
    page.remove_prefix(kIndent.size());
    block += std::string(take_word(page, '\n')) + "\n";
  }
  return block;
}

std::string cause_shown_by(const std::string& line, const Catalogue& catalogue) {
  const auto found = read_log(line + "\n", catalogue);
  return found.empty() ? "" : found.front().cause->id;
}

}  // namespace

TEST_CASE("rows of one's own are found in logs beside ours", "[own_causes]") {
  TemporaryFolder folder;
  const auto own = load_catalogue({folder / "none.yaml", folder.write("a.yaml", kFabric)});
  REQUIRE(own.has_value());
  CHECK(cause_shown_by("RuntimeError: fabric X is in maintenance", *own) == "our-fabric");
  CHECK(own->at("our-fabric").backoff == Duration(20'000));
  CHECK(own->causes().size() == Catalogue::builtin().causes().size() + 1);
}

TEST_CASE("the row of docs/causes.md can be copied, and its words to a mistake are the program's",
          "[own_causes]") {
  const std::string page = safelaunch::testing::data("../../docs/causes.md");
  const std::string block = yaml_block(page);
  TemporaryFolder folder;
  const auto own = load_catalogue({folder.write("causes.yaml", block)});
  REQUIRE(own.has_value());
  CHECK(cause_shown_by("RuntimeError: fabric X is in maintenance", *own) == "our-fabric");
  const Cause& cause = own->at("our-fabric");
  CHECK(cause.retry == Retry::passes_by_itself);
  CHECK(cause.backoff == Duration(20'000));
  CHECK(cause.remedy == "Ask in the channel of the cluster.");

  std::string torn = block;
  torn.replace(torn.find("patterns:"), 9, "patern:");
  const auto refused = load_catalogue({folder.write("causes.yaml", torn)});
  REQUIRE(refused.has_error());
  const std::string& told = refused.error().message;
  CHECK_THAT(page, Catch::Matchers::ContainsSubstring(told.substr(told.rfind('/') + 1)));
}

TEST_CASE("a row with the id of ours takes its place", "[own_causes]") {
  TemporaryFolder folder;
  const auto own = load_catalogue({folder.write("a.yaml", kOwnWords)});
  REQUIRE(own.has_value());
  CHECK(own->at("shm-small").remedy == "Use the template big-shm.");
  CHECK(own->causes().size() == Catalogue::builtin().causes().size());
  CHECK(cause_shown_by("x:1:2 [0] NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9 bytes",
                       *own) == "shm-small");
}

TEST_CASE("the user's row takes the place of the host's", "[own_causes]") {
  TemporaryFolder folder;
  std::string mine = kFabric;
  mine.replace(mine.find("Ask in the channel"), 18, "Call 4711");
  const auto own =
      load_catalogue({folder.write("etc.yaml", kFabric), folder.write("home.yaml", mine)});
  REQUIRE(own.has_value());
  CHECK(own->at("our-fabric").remedy.starts_with("Call 4711"));
}

TEST_CASE("a mistake in a file of one's own is told with file, line and the right word",
          "[own_causes]") {
  TemporaryFolder folder;
  const auto refused = [&](const std::string& yaml) {
    const std::string file = folder.write("a.yaml", yaml);
    const auto own = load_catalogue({file});
    REQUIRE(own.has_error());
    return own.error().message.substr(file.size());
  };
  const std::string row = "- {id: a, title: t, remedy: r, retry: never";
  CHECK(refused(row + ", patern: [x]}") == ":1: unknown field 'patern'; did you mean 'patterns'?");
  CHECK(refused("\n" + row + ", beats: [shm-smal]}") ==
        ":2: no cause has the id 'shm-smal'; did you mean 'shm-small'?");
  CHECK(refused(row + ", stages: collective}") == ":1: a list is expected here");
  CHECK(refused(row + "}\n" + row + "}") == ":2: the id 'a' is given twice");
  CHECK(refused(row + ", patterns: ['(']}").find("is no RE2 pattern") != std::string::npos);
}

TEST_CASE("a file that others can write to decides nothing", "[own_causes]") {
  TemporaryFolder folder;
  CHECK(load_catalogue({folder.write("a.yaml", kFabric, 0666)}).has_error());
}

TEST_CASE("the user's files stand in the folder of the configuration", "[own_causes]") {
  const std::vector<std::string> home{"/etc/safelaunch/causes.yaml",
                                      "/home/a/.config/safelaunch/causes.yaml"};
  CHECK(own_cause_files({{"HOME", "/home/a"}}) == home);
  CHECK(own_cause_files({}) == std::vector<std::string>{"/etc/safelaunch/causes.yaml"});
}
