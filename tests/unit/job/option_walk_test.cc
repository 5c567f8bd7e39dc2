#include "launcher/job/option_walk.h"

#include "catch.h"
#include "commands.h"
#include "launcher/job/option_tables.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;
using Words = std::vector<std::string>;

namespace {

// "nnodes=2 standalone | t.py --x": the options that were found, and the words behind them; "?" and
// the word where an unknown option hides what follows.
std::string walked(const Words& words, const OptionTable& table) {
  const OptionWalk walk = walk_options(words, 0, table);
  if (walk.unclear) return "? " + words[*walk.unclear];
  std::string text;
  for (const FoundOption& option : walk.found) {
    text += std::string(option.spec->name);
    if (option.value) text += "=" + std::string(text_at(words, *option.value));
    text += ' ';
  }
  text += '|';
  for (std::size_t i = walk.end; i < words.size(); ++i) text += " " + words[i];
  return text;
}

std::string walked(const char* text, const OptionTable& table = kTorchrunTable) {
  return walked(words(text), table);
}

struct Walked {
  const char* words;
  const char* outline;
};

template <std::size_t N>
void check_walks(const Walked (&rows)[N], const OptionTable& table) {
  for (const Walked& row : rows) {
    INFO(row.words);
    CHECK(walked(row.words, table) == row.outline);
  }
}

constexpr OptionSpec kGetoptOptions[] = {OptionSpec{"signal", Takes::value, 's'},
                                         OptionSpec{"kill-after", Takes::value, 'k'},
                                         OptionSpec{"module", Takes::rest, 'm'}};
constexpr OptionTable kGetopt{kGetoptOptions, Grammar::getopt, Spelling::exact,
                              Abbreviations::unique_prefix};

struct NamedTable {
  const char* name;
  const OptionTable& table;
};
const NamedTable kTables[] = {{"torchrun", kTorchrunTable},
                              {"ft_launcher", kFtLauncherTable},
                              {"dlrover-run", kDlroverTable},
                              {"deepspeed", kDeepspeedTable},
                              {"accelerate", kAccelerateTable}};

std::string with_dashes(std::string name) {
  std::ranges::replace(name, '_', '-');
  return name;
}

// Walks `words` and the script behind them; "" where the option was found with the value 7 (or
// with none) and the script stands behind it.
std::string trouble_with(Words words, const OptionSpec& spec, const OptionTable& table) {
  words.emplace_back("t.py");
  const OptionWalk walk = walk_options(words, 0, table);
  const bool takes = spec.takes != Takes::nothing;
  const bool found = walk.found.size() == 1 && walk.found[0].spec->name == spec.name &&
                     walk.found[0].value.has_value() == takes;
  const bool right = found && !walk.unclear && walk.end == words.size() - 1 &&
                     (!takes || text_at(words, *walk.found[0].value) == "7");
  return right ? "" : line(words);
}

}  // namespace

TEST_CASE("every option of every launcher is found in each of its spellings", "[option_walk]") {
  for (const auto& [launcher, table] : kTables) {
    for (const OptionSpec& spec : table.options) {
      Words names{std::string(spec.name)};
      if (!spec.alias.empty()) names.emplace_back(spec.alias);
      if (table.spelling == Spelling::dashes_too)
        names.push_back(with_dashes(std::string(spec.name)));
      std::vector<Words> spelled;
      for (const std::string& name : names) {
        if (spec.takes == Takes::nothing) {
          spelled.push_back({"--" + name});
        } else {
          spelled.push_back({"--" + name, "7"});
          spelled.push_back({"--" + name + "=7"});
        }
      }
      const std::string letter = std::string("-") + spec.letter;
      if (spec.letter != 0 && spec.takes == Takes::nothing) {
        spelled.push_back({letter});
      } else if (spec.letter != 0) {
        spelled.push_back({letter, "7"});
        spelled.push_back({letter + "7"});
        spelled.push_back({letter + "=7"});
      }
      Words wrong;
      for (const Words& each : spelled)
        if (std::string trouble = trouble_with(each, spec, table); !trouble.empty())
          wrong.push_back(std::move(trouble));
      INFO(launcher << " " << spec.name);
      CHECK(wrong == Words{});
    }
  }
}

TEST_CASE("no launcher's table has a name or a letter twice", "[option_walk]") {
  for (const auto& [launcher, table] : kTables) {
    Words names;
    for (const OptionSpec& spec : table.options) {
      names.emplace_back(spec.name);
      if (!spec.alias.empty()) names.emplace_back(spec.alias);
      if (spec.letter != 0) names.emplace_back(1, spec.letter);
    }
    std::ranges::sort(names);
    INFO(launcher);
    CHECK(std::ranges::adjacent_find(names) == names.end());
  }
}

TEST_CASE("an abbreviation counts where it is unique and the launcher takes any", "[option_walk]") {
  check_walks(
      {
          {"--standa t.py", "standalone | t.py"},
          {"--max 3 t.py", "max_restarts=3 | t.py"},
          {"--nproc=8 t.py", "nproc_per_node=8 | t.py"},
          {"--no-p t.py", "no_python | t.py"},
          {"--rdzv-b c10d t.py", "rdzv_backend=c10d | t.py"},
          {"--node 1 t.py", "node_rank=1 | t.py"},
          {"--rdzv c10d t.py", "? --rdzv"},
          {"--n 1 t.py", "? --n"},
          {"--nnodesx 1 t.py", "? --nnodesx"},
      },
      kTorchrunTable);
  check_walks({{"--num_n 2 t.py", "num_nodes=2 | t.py"},
               {"--num_a 2 t.py", "num_gpus=2 | t.py"},
               {"--num 2 t.py", "? --num"},
               {"--master_p 5 t.py", "master_port=5 | t.py"},
               {"--master-port 5 t.py", "? --master-port"},
               // A whole name is no abbreviation of a longer one.
               {"--no_ssh t.py", "no_ssh | t.py"},
               {"--launcher pdsh t.py", "launcher=pdsh | t.py"},
               {"--launcher_a x t.py", "launcher_args=x | t.py"}},
              kDeepspeedTable);
  for (const OptionTable* table : {&kAccelerateTable, &kFtLauncherTable, &kDlroverTable})
    CHECK(walked("--max 3 t.py", *table) == "? --max");
}

TEST_CASE("letters may stand together, and the last may have a value", "[option_walk]") {
  check_walks({{"-mr3 t.py", "module redirects=3 | t.py"},
               {"-mr 3 t.py", "module redirects=3 | t.py"},
               {"-t=0:1 t.py", "tee=0:1 | t.py"},
               {"-m -t 3 t", "module tee=3 | t"},
               {"-mx t.py", "? -mx"},
               {"-x --nnodes 2 t.py", "nnodes=2 | t.py"}},
              kTorchrunTable);
}

TEST_CASE("the options end at the first operand, or behind two dashes", "[option_walk]") {
  check_walks({{"t.py --nnodes 2", "| t.py --nnodes 2"},
               {"--nnodes 2 -- t.py --standalone", "nnodes=2 | t.py --standalone"},
               {"--nnodes 2 -- --standalone", "nnodes=2 | --standalone"},
               {"- t.py", "| - t.py"},
               {"--nnodes", "|"},
               {"--standalone", "standalone |"},
               {"--", "|"},
               {"", "|"}},
              kTorchrunTable);
  CHECK(walked(Words{"--nnodes", "2", "", "t.py"}, kTorchrunTable) == "nnodes=2 |  t.py");
}

TEST_CASE("a value is whatever word follows, also one that looks like an option", "[option_walk]") {
  check_walks({{"--node_rank -1 t.py", "node_rank=-1 | t.py"},
               {"--log_dir --nnodes t.py", "log_dir=--nnodes | t.py"},
               {"--rdzv-conf=a=1,b=2 t.py", "rdzv_conf=a=1,b=2 | t.py"},
               {"--log_dir= t.py", "log_dir= | t.py"}},
              kTorchrunTable);
  CHECK(walked(Words{"--role", "a b", "t.py"}, kTorchrunTable) == "role=a b | t.py");
}

TEST_CASE("a flag with a value in the same word is found, and hides nothing", "[option_walk]") {
  CHECK(walked("--standalone=1 t.py") == "standalone | t.py");
}

TEST_CASE("behind an unknown option the next word is unclear, unless it tells itself",
          "[option_walk]") {
  check_walks({{"--new x t.py", "? --new"},
               {"--new=x t.py", "| t.py"},
               {"--new --nnodes 2 t.py", "nnodes=2 | t.py"},
               {"--new", "|"},
               {"--nnodes 2 --new x t.py", "? --new"},
               {"-z5 t.py", "? -z5"},
               {"--=x t.py", "| t.py"}},
              kTorchrunTable);
  // For argparse a word with a blank is an operand, whatever it begins with.
  CHECK(walked(Words{"--a script", "--x"}, kTorchrunTable) == "| --a script --x");
}

TEST_CASE("under getopt an unknown option is a flag", "[option_walk]") {
  check_walks({{"--foreground 5 t", "| 5 t"},
               {"--foreground -s INT 5 t", "signal=INT | 5 t"},
               {"--sig=INT 5", "signal=INT | 5"},
               {"--kill 3 5", "kill-after=3 | 5"},
               {"-vs INT 5", "signal=INT | 5"},
               {"-vsINT 5", "signal=INT | 5"},
               {"-s=INT 5", "signal==INT | 5"},
               {"-v -x -- -k 1", "| -k 1"}},
              kGetopt);
}

TEST_CASE("an option that begins a program ends the walk", "[option_walk]") {
  check_walks({{"-m pkg -s 1", "module=pkg | -s 1"},
               {"-mpkg -s 1", "module=pkg | -s 1"},
               {"-vm pkg x", "module=pkg | x"},
               {"-s 1 -m", "signal=1 |"}},
              kGetopt);
}

TEST_CASE("an option of ft_launcher's own takes a value, whatever its version knows",
          "[option_walk]") {
  check_walks({{"--ft-future-timeout 5 t.py", "=5 | t.py"},
               {"--ft_future_timeout=5 t.py", "=5 | t.py"},
               {"--ft-ignore-missing-cfg t.py", "ft_ignore_missing_cfg | t.py"},
               {"--ft- 5 t.py", "? --ft-"},
               {"--fu 5 t.py", "? --fu"}},
              kFtLauncherTable);
  CHECK(walked("--ft-future-timeout 5 t.py") == "? --ft-future-timeout");
}

TEST_CASE("of an option that is given twice the last use counts", "[option_walk]") {
  const Words argv = words("--nnodes 1 --standalone --nnodes=2 t.py");
  const OptionWalk walk = walk_options(argv, 0, kTorchrunTable);
  REQUIRE(walk.last("nnodes") != nullptr);
  CHECK(text_at(argv, *walk.last("nnodes")->value) == "2");
  CHECK(walk.has("standalone"));
  CHECK(walk.last("node_rank") == nullptr);
}

TEST_CASE("a walk that begins behind the last word finds nothing", "[option_walk]") {
  const Words argv = words("torchrun");
  const OptionWalk walk = walk_options(argv, 1, kTorchrunTable);
  CHECK(walk.found.empty());
  CHECK(walk.end == 1);
}
