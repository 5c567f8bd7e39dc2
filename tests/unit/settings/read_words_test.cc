#include "safelaunch/settings/read_words.h"

#include <array>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::settings;

namespace {

using WordList = std::vector<std::string>;

struct ReadTarget {
  bool dry = false;
  bool loud = false;
  bool soft = false;
  std::string log_dir;
  WordList names;
  WordList set;
  std::optional<int> ranks;
};

constexpr std::array kReadOptions{
    Option{.name = "dry-run", .letter = 'd', .put = put_into<&ReadTarget::dry>},
    Option{.name = "loud", .put = put_into<&ReadTarget::loud>, .rival = "soft"},
    Option{
        .name = "soft", .put = put_into<&ReadTarget::soft>, .excludes = "dry-run", .rival = "loud"},
    Option{.name = "log-dir", .put = put_into<&ReadTarget::log_dir>, .value = "DIR"},
    Option{.name = "name",
           .letter = 'n',
           .put = put_into<&ReadTarget::names>,
           .kind = OptionKind::list},
    Option{.name = "set", .put = put_into<&ReadTarget::set>},
    Option{.name = "ranks", .put = put_into<&ReadTarget::ranks>},
};

constexpr Grammar kVerbs{"show", kReadOptions, Rest::words, Again::refused};
constexpr Grammar kCommands{"run", kReadOptions, Rest::command, Again::overrides};

struct WordsTaken {
  ReadTarget target;
  ReadWords words;
};

WordsTaken taken(const Grammar& grammar, const WordList& words) {
  WordsTaken result;
  auto read = read_words(grammar, words, &result.target);
  INFO((read ? "" : read.error().message));
  REQUIRE(read.has_value());
  result.words = *std::move(read);
  return result;
}

std::string refusal_of(const Grammar& grammar, const WordList& words) {
  ReadTarget target;
  const auto read = read_words(grammar, words, &target);
  if (read) return "accepted";
  CHECK(read.error().code == Errc::usage);
  return read.error().message;
}

}  // namespace

TEST_CASE("no words say nothing", "[read_words]") {
  const WordsTaken nothing = taken(kVerbs, {});
  CHECK(nothing.words.rest.empty());
  CHECK(nothing.words.given.empty());
  CHECK_FALSE(nothing.words.wants_help);
}

TEST_CASE("a value follows its option as the next word or behind an equal sign", "[read_words]") {
  for (const WordList& words :
       {WordList{"--ranks", "4"}, WordList{"--ranks=4"}, WordList{"--ranks", "004"}}) {
    INFO(words.front());
    CHECK(taken(kVerbs, words).target.ranks == 4);
  }
}

TEST_CASE("a name may be spelled with dashes, with underscores, and as its letter",
          "[read_words]") {
  for (const char* word : {"--log-dir", "--log_dir"}) {
    CHECK(taken(kVerbs, {word, "a_b"}).target.log_dir == "a_b");
    CHECK(taken(kVerbs, {std::string(word) + "=a_b"}).target.log_dir == "a_b");
  }
  for (const char* word : {"--dry-run", "--dry_run", "-d", "--dry-run=true", "-d=1"})
    CHECK(taken(kVerbs, {word}).target.dry);
  for (const WordList& words : {WordList{"-n", "a"}, WordList{"-n=a"}, WordList{"--name", "a"}})
    CHECK(taken(kVerbs, words).target.names == WordList{"a"});
}

TEST_CASE("only the first equal sign parts a name from its value", "[read_words]") {
  CHECK(taken(kVerbs, {"--set=A=1=2"}).target.set == WordList{"A=1=2"});
  CHECK(taken(kVerbs, {"--log-dir==x"}).target.log_dir == "=x");
}

TEST_CASE("a flag takes no next word, but a truth behind an equal sign", "[read_words]") {
  const WordsTaken flag = taken(kVerbs, {"--dry-run", "true"});
  CHECK(flag.target.dry);
  CHECK(flag.words.rest == WordList{"true"});
  CHECK_FALSE(taken(kVerbs, {"--dry-run=no"}).target.dry);
}

TEST_CASE("the word behind an option is its value, whatever it looks like", "[read_words]") {
  CHECK(taken(kVerbs, {"--log-dir", "--dry-run"}).target.log_dir == "--dry-run");
  CHECK(taken(kVerbs, {"--log-dir", "--"}).target.log_dir == "--");
  CHECK(taken(kVerbs, {"--log-dir", "--help"}).target.log_dir == "--help");
}

TEST_CASE("options may stand among the words of a verb", "[read_words]") {
  const WordsTaken mixed = taken(kVerbs, {"a", "--dry-run", "b", "--ranks", "2", "c"});
  CHECK(mixed.target.dry);
  CHECK(mixed.target.ranks == 2);
  CHECK(mixed.words.rest == WordList{"a", "b", "c"});
}

TEST_CASE("options behind the first word of a command are the command's", "[read_words]") {
  const WordsTaken run = taken(kCommands, {"-d", "train", "--ranks", "4", "--", "-d", "--help"});
  CHECK(run.words.rest == WordList{"train", "--ranks", "4", "--", "-d", "--help"});
  CHECK_FALSE(run.target.ranks);
  CHECK_FALSE(run.words.wants_help);
}

TEST_CASE("behind two dashes no word is an option", "[read_words]") {
  for (const Grammar& grammar : {kVerbs, kCommands}) {
    INFO(grammar.verb);
    const WordsTaken behind = taken(grammar, {"--ranks=1", "--", "--ranks", "--", "-h"});
    CHECK(behind.target.ranks == 1);
    CHECK(behind.words.rest == WordList{"--ranks", "--", "-h"});
    CHECK(taken(grammar, {"--"}).words.rest.empty());
  }
}

TEST_CASE("one dash alone is a word, as for stdin", "[read_words]") {
  CHECK(taken(kVerbs, {"-", "--dry-run"}).words.rest == WordList{"-"});
  CHECK(taken(kCommands, {"-", "--dry-run"}).words.rest == WordList{"-", "--dry-run"});
  CHECK(taken(kVerbs, {"", "x"}).words.rest == WordList{"", "x"});
}

TEST_CASE("words that ask for help end the reading", "[read_words]") {
  for (const char* word : {"--help", "-h"}) {
    const WordsTaken help = taken(kVerbs, {"--dry-run", word, "--nonsense"});
    CHECK(help.words.wants_help);
    CHECK(taken(kCommands, {word}).words.wants_help);
  }
  CHECK(refusal_of(kVerbs, {"--nonsense", "--help"}) == "show does not take '--nonsense'");
}

TEST_CASE("an option of a verb may be called -h or --help", "[read_words]") {
  constexpr std::array kHosts{
      Option{.name = "help", .letter = 'h', .put = put_into<&ReadTarget::dry>}};
  for (const char* word : {"--help", "-h"}) {
    const WordsTaken own = taken({"show", kHosts, Rest::words, Again::refused}, {word});
    CHECK(own.target.dry);
    CHECK_FALSE(own.words.wants_help);
  }
}

TEST_CASE("all that was said of an option is kept by its name", "[read_words]") {
  const auto given =
      taken(kVerbs, {"-d", "-n", "a,b", "--name=c", "--set", "A=1", "--set=B=2", "--log_dir=x"})
          .words.given;
  const std::map<std::string, std::string, std::less<>> expected{
      {"dry-run", "true"}, {"name", "a,b,c"}, {"set", "A=1,B=2"}, {"log-dir", "x"}};
  CHECK(given == expected);
}

TEST_CASE("an option that repeats adds its words in order", "[read_words]") {
  const ReadTarget target =
      taken(kVerbs, {"-n", "a,b", "--set", "A=1,2", "-n=c", "--set", "B"}).target;
  CHECK(target.names == WordList{"a", "b", "c"});
  CHECK(target.set == WordList{"A=1,2", "B"});
}

TEST_CASE("a value that is given twice is a mistake to a verb, and to a run the last one holds",
          "[read_words]") {
  const WordList twice{"--ranks", "1", "--ranks=2"};
  CHECK(refusal_of(kVerbs, twice) == "--ranks is given twice");
  CHECK(taken(kCommands, twice).target.ranks == 2);
  CHECK(taken(kCommands, twice).words.given.at("ranks") == "2");
}

TEST_CASE("a flag that is given twice is said once, and the last truth holds", "[read_words]") {
  for (const Grammar& grammar : {kVerbs, kCommands}) {
    CHECK(taken(grammar, {"-d", "--dry-run"}).target.dry);
    const WordsTaken taken_back = taken(grammar, {"-d", "--dry-run=false"});
    CHECK_FALSE(taken_back.target.dry);
    CHECK(taken_back.words.given.at("dry-run") == "false");
  }
}

TEST_CASE("of two rivals the one that is said last is given", "[read_words]") {
  using Given = std::map<std::string, std::string, std::less<>>;
  CHECK(taken(kVerbs, {"--soft", "--loud"}).words.given == Given{{"loud", "true"}});
  CHECK(taken(kVerbs, {"--loud", "--soft"}).words.given == Given{{"soft", "true"}});
  CHECK(taken(kVerbs, {"--loud", "--soft=false"}).words.given ==
        Given{{"loud", "true"}, {"soft", "false"}});
}

TEST_CASE("two options that exclude each other are a mistake in either order", "[read_words]") {
  CHECK(refusal_of(kVerbs, {"--soft", "-d"}) == "--soft excludes --dry-run");
  CHECK(refusal_of(kVerbs, {"-d", "--soft"}) == "--soft excludes --dry-run");
  CHECK(refusal_of(kVerbs, {"--soft"}) == "accepted");
}

TEST_CASE("an option at the end of the words names the value that it misses", "[read_words]") {
  CHECK(refusal_of(kVerbs, {"--log_dir"}) == "--log-dir needs a value: DIR");
  CHECK(refusal_of(kVerbs, {"-n"}) == "--name needs a value: TEXT");
  CHECK(refusal_of(kCommands, {"--ranks"}) == "--ranks needs a value: N");
}

TEST_CASE("a value that is refused names its option as help does", "[read_words]") {
  for (const WordList& words : {WordList{"--ranks", "x"}, WordList{"--ranks=x"}})
    CHECK(refusal_of(kVerbs, words) == "--ranks: 'x' is not a whole number from 0 to 1000000");
  CHECK(refusal_of(kVerbs, {"-n="}) == "--name: '' is not a value");
  CHECK(refusal_of(kVerbs, {"-d=maybe"}) == "--dry-run: 'maybe' is not true or false");
  CHECK(refusal_of(kVerbs, {"--log_dir", ""}) == "--log-dir: '' is not a value");
}

TEST_CASE("an unknown option is told by its verb, with the nearest that there is", "[read_words]") {
  struct Row {
    std::string word;
    std::string hint;
  };
  for (const Row& row :
       {Row{"--rank", "; did you mean '--ranks'?"}, Row{"--rank=4", "; did you mean '--ranks'?"},
        Row{"-ranks", "; did you mean '--ranks'?"}, Row{"--dryrun", "; did you mean '--dry-run'?"},
        Row{"--logdir=/x", "; did you mean '--log-dir'?"}, Row{"--help=1", ""}, Row{"-x", ""},
        Row{"-dn", ""}, Row{"--=x", ""}, Row{"---", ""}, Row{"--standalone", ""}, Row{"-1", ""}}) {
    INFO(row.word);
    CHECK(refusal_of(kVerbs, {row.word}) == "show does not take '" + row.word + "'" + row.hint);
    CHECK(refusal_of(kCommands, {row.word}) == "unknown option " + row.word + row.hint);
  }
}

TEST_CASE("of several mistakes the first is told", "[read_words]") {
  CHECK(refusal_of(kVerbs, {"--ranks", "x", "--nonsense"}) ==
        "--ranks: 'x' is not a whole number from 0 to 1000000");
  CHECK(refusal_of(kVerbs, {"--soft", "-d", "--ranks"}) == "--ranks needs a value: N");
}
