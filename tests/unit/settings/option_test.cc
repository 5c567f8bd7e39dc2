#include "safelaunch/settings/option.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::settings;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

namespace {

using OptionWords = std::vector<std::string>;

enum class Mood { calm, hasty, lazy };

struct OptionTarget {
  bool on = false;
  bool off = true;
  std::string text;
  std::filesystem::path path;
  OptionWords words;
  std::optional<int> count;
  std::optional<Duration> time;
  Mood mood = Mood::calm;
};

constexpr Option kCount{.name = "count", .put = put_into<&OptionTarget::count>, .range = {2, 9}};
constexpr Option kMood{
    .name = "mood", .put = put_into<&OptionTarget::mood>, .choices = "calm|hasty|lazy"};

Option option_of(OptionKind kind) {
  return {.name = "x", .kind = kind, .choices = kind == OptionKind::choice ? "a|b" : ""};
}

std::string why_refused(const Option& option, std::string_view value) {
  return refuse_value(option, value).value_or("accepted");
}

std::string why_refused(OptionKind kind, std::string_view value) {
  return why_refused(option_of(kind), value);
}

OptionTarget target_after(const Option& option, std::string_view value) {
  OptionTarget target;
  option.put.write(option, &target, value);
  return target;
}

}  // namespace

TEST_CASE("a range of ports is one number or two, both included", "[option]") {
  struct Row {
    std::string_view text;
    PortRange range;
  };
  for (const Row& row :
       {Row{"1", {1, 1}}, Row{"29500", {29500, 29500}}, Row{"65535", {65535, 65535}},
        Row{"20000-25000", {20000, 25000}}, Row{"7-7", {7, 7}}, Row{"1-65535", {1, 65535}}}) {
    INFO(row.text);
    CHECK(parse_port_range(row.text).value() == row.range);
  }
}

TEST_CASE("a text that is no range of ports is told with what would be right", "[option]") {
  for (const char* text :
       {"",  "-",   "0",     "0-5",   "5-",  "-5",  "5-4", "65536", "1-65536", "70000",
        "x", "1-x", "1-2-3", "1 - 2", " 80", "80 ", "+80", "0x50",  "1e3",     "80.0"}) {
    INFO(text);
    const auto range = parse_port_range(text);
    REQUIRE(range.has_error());
    CHECK(range.error().code == Errc::usage);
    CHECK(range.error().message == "'" + std::string(text) +
                                       "' is no port and no range of ports; write a number from 1 "
                                       "to 65535, or two as in 20000-25000");
  }
}

TEST_CASE("an option is found by its whole name alone", "[option]") {
  const std::vector<Option> options{{.name = "init-timeout"}, {.name = "port"}};
  CHECK(find_option(options, "port") == &options[1]);
  for (const char* none : {"", "por", "ports", "--port", "Port", "init_timeout"})
    CHECK(find_option(options, none) == nullptr);
  CHECK(find_option({}, "port") == nullptr);
}

TEST_CASE("the option that was meant is named with its dashes", "[option]") {
  const std::vector<Option> options{{.name = "ranks"}, {.name = "all"}, {.name = "nnodes"}};
  CHECK(did_you_mean_option(options, "--rank") == "; did you mean '--ranks'?");
  CHECK(did_you_mean_option(options, "-ranks") == "; did you mean '--ranks'?");
  CHECK(did_you_mean_option(options, "--nnode") == "; did you mean '--nnodes'?");
  for (const char* far : {"", "-", "--", "--verbosely", "-x"}) {
    INFO(far);
    CHECK(did_you_mean_option(options, far).empty());
  }
  CHECK(did_you_mean_option(options, "--" + std::string(100'000, 'r')).empty());
  CHECK(did_you_mean_option({}, "--ranks").empty());
}

TEST_CASE("the words of a choice stand between bars", "[option]") {
  using Views = std::vector<std::string_view>;
  CHECK(words_of("off|ours") == Views{"off", "ours"});
  CHECK(words_of("one") == Views{"one"});
  CHECK(words_of("").empty());
}

TEST_CASE("the place of a value in help is its own word, else that of its kind", "[option]") {
  struct Row {
    OptionKind kind;
    std::string_view word;
  };
  for (const Row& row :
       {Row{OptionKind::flag, ""}, Row{OptionKind::text, "TEXT"}, Row{OptionKind::texts, "TEXT"},
        Row{OptionKind::list, "TEXT"}, Row{OptionKind::count, "N"},
        Row{OptionKind::duration, "TIME"}, Row{OptionKind::port, "keep|auto|N|A-B"},
        Row{OptionKind::choice, "a|b"}}) {
    INFO(static_cast<int>(row.kind));
    Option option = option_of(row.kind);
    CHECK(placeholder(option) == row.word);
    option.value = "DIR";
    CHECK(placeholder(option) == "DIR");
  }
}

TEST_CASE("a value of each kind that is wrong is told with what is right", "[option]") {
  struct Row {
    OptionKind kind;
    std::string_view value;
    std::string_view why;
  };
  const std::string_view no_time =
      " is not a duration: write a number and ms, s, min, h or d, such as 90s or 30min (0 or off: "
      "none)";
  for (const Row& row :
       {Row{OptionKind::flag, "maybe", "'maybe' is not true or false"},
        Row{OptionKind::flag, "", "'' is not true or false"},
        Row{OptionKind::text, "", "'' is not a value"},
        Row{OptionKind::texts, "", "'' is not a value"},
        Row{OptionKind::list, "", "'' is not a value"},
        Row{OptionKind::count, "many", "'many' is not a whole number from 0 to 1000000"},
        Row{OptionKind::choice, "c", "'c' is not one of a|b; did you mean 'a'?"},
        Row{OptionKind::choice, "neither", "'neither' is not one of a|b"},
        Row{OptionKind::port, "any",
            "'any' is no port and no range of ports; write a number from 1 to 65535, or two as in "
            "20000-25000, or keep, or auto"}}) {
    INFO(row.value);
    CHECK(why_refused(row.kind, row.value) == row.why);
  }
  CHECK(why_refused(OptionKind::duration, "soon") == "'soon'" + std::string(no_time));
}

TEST_CASE("a value of each kind that is right is accepted", "[option]") {
  struct Row {
    OptionKind kind;
    std::vector<std::string_view> values;
  };
  for (const Row& row :
       {Row{OptionKind::flag, {"true", "on", "yes", "1", "false", "off", "no", "0"}},
        Row{OptionKind::text, {"x", " ", "-", "--json", "a,b", "a=b", "\xff"}},
        Row{OptionKind::texts, {"A=1,2", "A"}}, Row{OptionKind::list, {"a", "a,b", ",", "a,,b"}},
        Row{OptionKind::count, {"0", "007", "1000000"}},
        Row{OptionKind::duration, {"0", "off", "5", "1.5min", "250ms", "2h", "1d"}},
        Row{OptionKind::port, {"keep", "auto", "29500", "1-2"}},
        Row{OptionKind::choice, {"a", "b"}}})
    for (const std::string_view value : row.values) {
      INFO(value);
      CHECK(why_refused(row.kind, value) == "accepted");
    }
}

TEST_CASE("a flag's word is written small", "[option]") {
  for (const char* value : {"True", "YES", "On", "2", "01", "t", "true "}) {
    INFO(value);
    CHECK(why_refused(OptionKind::flag, value) != "accepted");
  }
}

TEST_CASE("a flag with a placeholder also takes what that stands for", "[option]") {
  const Option json{.name = "json", .value = "FILE"};
  for (const char* value : {"true", "0", "maybe", "/dev/fd/3", "result.json"})
    CHECK(why_refused(json, value) == "accepted");
  CHECK(why_refused(json, "") == "'' is not a file");
}

TEST_CASE("a count keeps to its option's range, both ends included", "[option]") {
  CHECK(why_refused(kCount, "2") == "accepted");
  CHECK(why_refused(kCount, "9") == "accepted");
  for (const char* value :
       {"1", "10", "-2", "2.0", "2x", "", " 2", "+2", "0x2", "99999999999999999999"}) {
    INFO(value);
    CHECK(why_refused(kCount, value) ==
          "'" + std::string(value) + "' is not a whole number from 2 to 9");
  }
}

TEST_CASE("a choice that is refused tells the nearest word, and then the advice", "[option]") {
  const Option clean{.name = "clean",
                     .kind = OptionKind::choice,
                     .choices = "off|ours",
                     .advice = "others: safelaunch clean"};
  CHECK(why_refused(clean, "all") == "'all' is not one of off|ours; others: safelaunch clean");
  CHECK(why_refused(clean, "our") ==
        "'our' is not one of off|ours; did you mean 'ours'?; others: safelaunch clean");
  for (const char* value : {"", "|", "off|ours", "Off", "off "}) {
    INFO(value);
    CHECK(why_refused(clean, value) != "accepted");
  }
}

TEST_CASE("each kind of member takes an accepted value", "[option]") {
  const Option on{.name = "on", .put = put_into<&OptionTarget::on>};
  const Option off{.name = "no-off", .put = put_off<&OptionTarget::off>};
  const Option text{.name = "text", .put = put_into<&OptionTarget::text>};
  const Option path{.name = "path", .put = put_into<&OptionTarget::path>};
  const Option time{.name = "time", .put = put_into<&OptionTarget::time>};

  CHECK(target_after(on, "yes").on);
  CHECK_FALSE(target_after(on, "no").on);
  CHECK_FALSE(target_after(off, "true").off);
  CHECK(target_after(off, "false").off);
  CHECK(target_after(text, "a b,c=d").text == "a b,c=d");
  CHECK(target_after(path, "/a/b/").path == "/a/b/");
  CHECK(target_after(kCount, "9").count == 9);
  CHECK(target_after(time, "1.5s").time == 1500ms);
  CHECK(target_after(time, "90").time == 90s);
  CHECK(target_after(time, "off").time == 0s);
}

TEST_CASE("a choice is the enumerator that stands at its word's place", "[option]") {
  CHECK(target_after(kMood, "calm").mood == Mood::calm);
  CHECK(target_after(kMood, "hasty").mood == Mood::hasty);
  CHECK(target_after(kMood, "lazy").mood == Mood::lazy);
}

TEST_CASE("every word that a flag takes says on or off", "[option]") {
  for (const char* on : {"true", "on", "yes", "1"}) CHECK(option_value::flag(on));
  for (const char* off : {"false", "off", "no", "0", "", "maybe"})
    CHECK_FALSE(option_value::flag(off));
}

TEST_CASE("commas divide the words of a list, and nothing else's", "[option]") {
  struct Row {
    OptionKind kind;
    std::string_view given;
    OptionWords words;
  };
  for (const Row& row :
       {Row{OptionKind::list, "a", {"a"}}, Row{OptionKind::list, "a,b,c", {"a", "b", "c"}},
        Row{OptionKind::list, ",a,", {"", "a", ""}}, Row{OptionKind::texts, "A=1,2", {"A=1,2"}},
        Row{OptionKind::text, "a,b", {"a,b"}}}) {
    INFO(row.given);
    OptionWords words{"before"};
    option_value::append(option_of(row.kind), row.given, words);
    CHECK(words.front() == "before");
    words.erase(words.begin());
    CHECK(words == row.words);
  }
}

TEST_CASE("a count beyond a million is read where the option's range allows it", "[option]") {
  Option far = kCount;
  far.range = {0, 2'000'000'000};
  REQUIRE_FALSE(refuse_value(far, "1500000000"));
  CHECK(target_after(far, "1500000000").count == 1'500'000'000);
}

TEST_CASE("a wish for a port is one of two words, or ports", "[options]") {
  CHECK(parse_port_wish("auto").value() == PortWish{});
  CHECK(parse_port_wish("keep").value() == PortWish{PortWish::How::keep, {}});
  CHECK(parse_port_wish("29500").value() == PortWish{PortWish::How::range, {29500, 29500}});
  CHECK(parse_port_wish("1-2").value() == PortWish{PortWish::How::range, {1, 2}});
  for (const char* wrong : {"", "no port", "kept", "AUTO", "0", "2-1"}) {
    INFO(wrong);
    REQUIRE(parse_port_wish(wrong).has_error());
    CHECK(parse_port_wish(wrong).error().code == Errc::usage);
    CHECK(parse_port_wish(wrong).error().message.ends_with(", or keep, or auto"));
  }
}
