#include "launcher/cli/verb_wishes.h"

#include <map>

#include "catch.h"
#include "safelaunch/diagnose/catalogue.h"

using namespace safelaunch;
using namespace safelaunch::cli;

namespace {

using About = Question::About;
using Show = ProfilesWish::Show;
using WishWords = std::vector<std::string>;

struct AskedAs {
  About about;
  std::string what;
  bool operator==(const AskedAs&) const = default;
};

Result<Question> question(const WishWords& words, const std::map<std::string, AtPath>& disk = {}) {
  return question_in(words, [&](const std::string& path) {
    const auto found = disk.find(path);
    return found == disk.end() ? AtPath::nothing : found->second;
  });
}

AskedAs asked(const WishWords& words, const std::map<std::string, AtPath>& disk = {}) {
  const auto is = question(words, disk);
  INFO((is ? "" : is.error().message));
  REQUIRE(is.has_value());
  return {is->about, is->what};
}

std::string refused_question(const WishWords& words,
                             const std::map<std::string, AtPath>& disk = {}) {
  const auto is = question(words, disk);
  if (is) return "accepted";
  CHECK(is.error().code == Errc::usage);
  return is.error().message;
}

std::string refused_wish(const WishWords& words) {
  const auto wish = profiles_wish(words);
  if (wish) return "accepted";
  CHECK(wish.error().code == Errc::usage);
  return wish.error().message;
}

report::RunLine run_called(const std::string& id) {
  report::RunLine line;
  line.run.id = id;
  return line;
}

}  // namespace

TEST_CASE("a cause is asked for by its number or its name", "[explain]") {
  CHECK(asked({"F04"}) == AskedAs{About::cause, "F04"});
  CHECK(asked({"shm-small"}) == AskedAs{About::cause, "shm-small"});
}

TEST_CASE("every cause of the catalogue can be asked for", "[explain]") {
  for (const diagnose::Cause& cause : diagnose::catalogue().causes()) {
    INFO(cause.id);
    CHECK(asked({std::string(cause.id)}).about == About::cause);
  }
}

TEST_CASE("a variable is asked for whether it is known or looks like one", "[explain]") {
  for (const char* word : {"NCCL_TIMEOUT", "RANK", "NO_SUCH_THING", "NCCL_P2P_LEVELS", "A_1"}) {
    INFO(word);
    CHECK(asked({word}) == AskedAs{About::variable, word});
  }
}

TEST_CASE("a variable may be written small", "[explain]") {
  CHECK(asked({"rank"}) == AskedAs{About::variable, "RANK"});
  CHECK(asked({"master_port"}) == AskedAs{About::variable, "MASTER_PORT"});
  CHECK(asked({"$NCCL_TIMEOUT"}) == AskedAs{About::variable, "NCCL_TIMEOUT"});
  CHECK(asked({"NCCL_TIMEOUT=30"}) == AskedAs{About::variable, "NCCL_TIMEOUT"});
}

TEST_CASE("one word of an error may name a cause", "[explain]") {
  for (const char* word : {"EADDRINUSE", "SIGBUS"})
    CHECK(asked({word}) == AskedAs{About::sentence, word});
}

TEST_CASE("a file that is there is a log, also where its name looks like a variable", "[explain]") {
  for (const char* path : {"train.log", "./a b.log", "RUN_2024", "/LOGS/RUN_1", "nccl_timeout"}) {
    INFO(path);
    CHECK(asked({path}, {{path, AtPath::file}}) == AskedAs{About::log_file, path});
    CHECK(asked({path}, {{path, AtPath::pipe}}) == AskedAs{About::log_in_pipe, path});
  }
}

TEST_CASE("what is known by name comes before a file of that name", "[explain]") {
  CHECK(asked({"F04"}, {{"F04", AtPath::file}}).about == About::cause);
  CHECK(asked({"NCCL_TIMEOUT"}, {{"NCCL_TIMEOUT", AtPath::file}}).about == About::variable);
  CHECK(asked({"RANK"}, {{"RANK", AtPath::folder}}).about == About::variable);
}

TEST_CASE("a folder is no log", "[explain]") {
  for (const char* path : {"logs", "/tmp/my logs", "RUN_1"})
    CHECK(refused_question({path}, {{path, AtPath::folder}}) ==
          std::string(path) + " is a directory; explain reads a log file");
}

TEST_CASE("a dash asks for the log on stdin, also where a file is called so", "[explain]") {
  CHECK(asked({"-"}, {{"-", AtPath::file}}) == AskedAs{About::log_on_stdin, ""});
}

TEST_CASE("several words, or one with blanks, are what an error has said", "[explain]") {
  CHECK(asked({"CUDA", "out", "of", "memory"}) == AskedAs{About::sentence, "CUDA out of memory"});
  CHECK(asked({"CUDA out of memory"}) == AskedAs{About::sentence, "CUDA out of memory"});
  CHECK(asked({"F04", "F05"}) == AskedAs{About::sentence, "F04 F05"});
  CHECK(asked({"-", "-"}) == AskedAs{About::sentence, "- -"});
}

TEST_CASE("a word that means nothing is told with the nearest cause", "[explain]") {
  CHECK(refused_question({"shm-smal"}) ==
        "there is no cause 'shm-smal'; did you mean 'shm-small'?");
  CHECK(refused_question({"nowhere.log"}) ==
        "there is no cause 'nowhere.log', and no variable or file of that name");
  CHECK(refused_question({""}) == "there is no cause '', and no variable or file of that name");
  CHECK(refused_question({"/LOGS/RUN_1"}) ==
        "there is no cause '/LOGS/RUN_1', and no variable or file of that name");
  CHECK(refused_question({}) ==
        "explain takes a cause (F04, shm-small), a variable (NCCL_TIMEOUT), a log, an error's "
        "words, or - for a log on stdin");
}

TEST_CASE("an error's words are answered with the cause that they name", "[explain]") {
  CHECK_THAT(explain_sentence("CUDA out of memory"), Catch::Matchers::ContainsSubstring("gpu-oom"));
  CHECK_THAT(explain_sentence("Bus error"), Catch::Matchers::ContainsSubstring("shm-small"));
  CHECK_THAT(explain_sentence("No space left on device"),
             Catch::Matchers::ContainsSubstring("disk-full"));
  CHECK_THAT(explain_sentence("environment variable RANK expected, but not set"),
             Catch::Matchers::ContainsSubstring("world-variables"));
  CHECK(explain_sentence("the cat sat on the mat") == "No known cause shows in these words.\n");
  CHECK(explain_sentence("") == "No known cause shows in these words.\n");
}

TEST_CASE("one line on stdin that names a cause as people do is a sentence", "[explain]") {
  CHECK(is_sentence("NCCL timeout"));
  CHECK(is_sentence("NCCL timeout\n"));
  CHECK_FALSE(is_sentence("NCCL timeout\nNCCL timeout\n"));
  CHECK_FALSE(is_sentence("the cat sat on the mat"));
  CHECK_FALSE(is_sentence(""));
  CHECK_FALSE(
      is_sentence("NCCL WARN Error while creating shared memory segment /dev/shm/nccl-x "
                  "(size 9637888), error: No space left on device (28)\n"));
}

TEST_CASE("each word of profiles asks for its own", "[profiles]") {
  struct Row {
    WishWords words;
    Show show;
    std::string profile;
  };
  for (const Row& row :
       {Row{{}, Show::list, ""}, Row{{"list"}, Show::list, ""}, Row{{"names"}, Show::names, ""},
        Row{{"show", "no-shm"}, Show::one, "no-shm"},
        Row{{"check", "./mine.yaml"}, Show::check, "./mine.yaml"},
        Row{{"env", "no-ib"}, Show::exports, "no-ib"}, Row{{"show", "show"}, Show::one, "show"},
        Row{{"schema"}, Show::schema_of_profile, ""},
        Row{{"schema", "profile"}, Show::schema_of_profile, ""},
        Row{{"schema", "config"}, Show::schema_of_config, ""}}) {
    const auto wish = profiles_wish(row.words);
    INFO((row.words.empty() ? "" : row.words.front()));
    REQUIRE(wish.has_value());
    CHECK(wish->show == row.show);
    CHECK(wish->profile == row.profile);
  }
}

TEST_CASE("a wrong word of profiles is told with the right ones", "[profiles]") {
  const std::string right = " (list, names, schema, show NAME, check FILE, env NAME)";
  CHECK(refused_wish({"shwo", "basic"}) ==
        "profiles does not know 'shwo'; did you mean 'show'?" + right);
  CHECK(refused_wish({"basic"}) == "profiles does not know 'basic'" + right);
  CHECK(refused_wish({""}) == "profiles does not know ''" + right);
  CHECK(refused_wish({"List"}) == "profiles does not know 'List'; did you mean 'list'?" + right);
}

TEST_CASE("show, check and env take one profile", "[profiles]") {
  for (const char* word : {"show", "check", "env"}) {
    const std::string refusal =
        "profiles " + std::string(word) + " takes one profile's name or file";
    CHECK(refused_wish({word}) == refusal);
    CHECK(refused_wish({word, "a", "b"}) == refusal);
  }
}

TEST_CASE("list and names take no word, and say which one is too many", "[profiles]") {
  CHECK(refused_wish({"list", "basic"}) == "profiles list takes no 'basic'");
  CHECK(refused_wish({"names", "a", "b"}) == "profiles names takes no 'a'");
}

TEST_CASE("a schema is that of a profile or of the configuration", "[profiles]") {
  CHECK(refused_wish({"schema", "confg"}) ==
        "profiles schema takes profile or config, not 'confg'; did you mean 'config'?");
  CHECK(refused_wish({"schema", "yaml"}) == "profiles schema takes profile or config, not 'yaml'");
  CHECK(refused_wish({"schema", "profile", "config"}) ==
        "profiles schema takes profile or config alone, not also 'config'");
}

TEST_CASE("of several running jobs one has to be named", "[stacks]") {
  CHECK(check_only_one({}).has_value());
  CHECK(check_only_one(std::vector{run_called("a1")}).has_value());
  const auto several =
      check_only_one(std::vector{run_called("a1"), run_called("b2"), run_called("c3")});
  REQUIRE(several.has_error());
  CHECK(several.error().code == Errc::usage);
  CHECK(several.error().message == "3 jobs of yours run under safelaunch; say which: a1, b2, c3");
}

TEST_CASE("the stacks of a run that is over are answered with its end", "[stacks]") {
  report::RunLine line = run_called("a1b2");
  CHECK(not_running(line).message ==
        "run a1b2 does not run any more: cut off; safelaunch report a1b2 shows it");
  line.outcome.emplace().attempts.emplace_back();
  CHECK(not_running(line).message ==
        "run a1b2 does not run any more: completed; safelaunch report a1b2 shows it");
  CHECK(not_running(line).code == Errc::usage);
}
