#include "safelaunch/trial/play.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::trial;
using safelaunch::testing::TemporaryFolder;

namespace {

/// A variable of our own environment, for as long as it lives.
class SetVariable {
 public:
  SetVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;
  ~SetVariable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// The account that a Python gives of itself, if it does this.
Result<Survey> survey_of(const std::string& body) {
  const TemporaryFolder made;
  auto folder = Folder::make();
  REQUIRE(folder.has_value());
  Setup setup;
  setup.python = made.write("python", "#!/bin/sh\n" + body + "\n", 0700);
  setup.environment = {{"PATH", "/usr/bin:/bin"}, {"OF_THE_USER", "yes"}};
  return survey(setup, *folder);
}

std::vector<std::string> words_with(const Scene& scene, std::vector<std::string> devices) {
  Setup setup{.python = "python3", .environment = {}};
  setup.devices = std::move(devices);
  return words_for(scene, setup, "/bin/safelaunch", "/t/worker.py", "/t/traces");
}

bool has_option(const std::vector<std::string>& words, const std::string& beginning) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return word.starts_with(beginning); });
}

}  // namespace

TEST_CASE("a trial has a folder of its own with the ranks' program, gone with the trial",
          "[trial]") {
  std::filesystem::path path;
  {
    auto folder = Folder::make();
    REQUIRE(folder.has_value());
    const Folder moved = std::move(*folder);
    path = moved.path();
    CHECK(std::filesystem::path(moved.worker()).parent_path() == path);
    CHECK(std::filesystem::file_size(moved.worker()) > 0);
    const auto rights = std::filesystem::status(path).permissions();
    CHECK((rights & std::filesystem::perms(0077)) == std::filesystem::perms::none);
    std::filesystem::create_directories(path / "nccl/deep");
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("two trials at once do not share a folder", "[trial]") {
  const auto one = Folder::make();
  const auto other = Folder::make();
  REQUIRE(one.has_value());
  REQUIRE(other.has_value());
  CHECK(one->path() != other->path());
}

TEST_CASE("where no folder can be made the error names TMPDIR, or the folder", "[trial]") {
  const TemporaryFolder made;
  {
    const SetVariable nowhere("TMPDIR", made / "none");
    const auto folder = Folder::make();
    REQUIRE(folder.has_error());
    CHECK(folder.error().message == "there is no folder for temporary files: see TMPDIR");
  }
  const SetVariable in_proc("TMPDIR", "/proc");
  const auto folder = Folder::make();
  REQUIRE(folder.has_error());
  CHECK(folder.error().message.starts_with("cannot make /proc/safelaunch-test-"));
}

TEST_CASE("a Python is asked in the user's environment, and its last line is its answer",
          "[trial]") {
  const auto found = survey_of(R"sh([ "$2" = survey ] && [ "$OF_THE_USER" = yes ] || exit 3
echo 'a site customisation speaks'; echo '{"python": "3.11.2", "packages": {"jax": "0.9"}}')sh");
  REQUIRE(found.has_value());
  CHECK(found->version == "3.11.2");
  CHECK(found->packages.at("jax") == "0.9");
}

TEST_CASE("a Python that does not say what it has is an error with its last words", "[trial]") {
  for (const auto& [body, words] :
       {std::pair("exit 0", "exit status 0"), std::pair("echo nonsense; exit 0", "exit status 0"),
        std::pair("echo 'bad interpreter' >&2; exit 3", "bad interpreter"),
        std::pair("kill -SEGV $$", "killed by SIGSEGV"),
        std::pair("echo '{\"python\": \"3.11\"}'; echo 'behind it'", "exit status 0")}) {
    INFO(body);
    const auto found = survey_of(body);
    REQUIRE(found.has_error());
    CHECK(found.error().code == Errc::peer_lost);
    CHECK(found.error().message.find("/python does not say what it has: ") != std::string::npos);
    CHECK(found.error().message.find(words) != std::string::npos);
  }
}

TEST_CASE("a Python that is not there is an error of its own", "[trial]") {
  const auto folder = Folder::make();
  REQUIRE(folder.has_value());
  Setup setup;
  setup.python = "/no/such/python";
  CHECK(survey(setup, *folder).error().code == Errc::not_found);
}

TEST_CASE("ranks on GPUs are given the first devices, where there is one for each", "[trial]") {
  const Scene two{.backend = Backend::nccl, .ranks = 2, .on_gpus = true};
  CHECK(has_option(words_with(two, {"0", "2", "3"}), "--devices=0,2"));
  CHECK(has_option(words_with(two, {"0", "2"}), "--devices=0,2"));
  CHECK_FALSE(has_option(words_with(two, {"0"}), "--devices"));
  CHECK_FALSE(has_option(words_with(two, {}), "--devices"));
  Scene on_cpus = two;
  on_cpus.on_gpus = false;
  CHECK_FALSE(has_option(words_with(on_cpus, {"0", "1"}), "--devices"));
}

TEST_CASE("a rank is told whether GPUs are there, so that it looks for no device file", "[trial]") {
  for (const bool on_gpus : {true, false}) {
    const auto words = words_with({.backend = Backend::jax, .ranks = 1, .on_gpus = on_gpus}, {});
    CHECK(words.at(words.size() - 2) == (on_gpus ? "gpu" : "cpu"));
  }
}

TEST_CASE("the program of the ranks stands behind the options, with its backend and folder",
          "[trial]") {
  const auto words = words_with({.backend = Backend::jax, .ranks = 3}, {});
  const auto behind = std::ranges::find(words, "--");
  REQUIRE(behind != words.end());
  CHECK(std::vector(behind + 1, words.end()) ==
        std::vector<std::string>{"python3", "/t/worker.py", "jax", "cpu", "/t/traces"});
  for (const char* option :
       {"--nproc-per-node=3", "--world-size=3", "--nnodes=1", "--node-rank=0", "--dry-run=false",
        "--interactive=false", "--fail-on-slow", "--json=/t/traces/outcome.json"})
    CHECK(has_option({words.begin(), behind}, option));
}
