#include "safelaunch/profile/library.h"

#include <sys/stat.h>

#include <array>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::profile;
using safelaunch::testing::TemporaryFolder;

namespace {

using Untrusted = SearchFolder::Untrusted;

constexpr std::array kBuiltIn{BuiltInProfile{"profiles/basic.yaml", "description: built in"},
                              BuiltInProfile{"profiles/no-shm.yaml", "extends: basic"}};

std::vector<std::string> paths(const std::vector<SearchFolder>& folders) {
  std::vector<std::string> result;
  for (const SearchFolder& folder : folders) result.push_back(folder.path);
  return result;
}

}  // namespace

TEST_CASE("profiles are looked for in the documented order", "[library]") {
  CHECK(paths(profile_search_path(
            {{"SAFELAUNCH_PROFILE_PATH", "/a::/b:"}, {"XDG_CONFIG_HOME", "/x"}, {"HOME", "/h"}})) ==
        std::vector<std::string>{"/a", "/b", "profiles", "/x/safelaunch/profiles",
                                 "/etc/safelaunch/profiles"});
  CHECK(paths(profile_search_path({{"HOME", "/h"}})) ==
        std::vector<std::string>{"profiles", "/h/.config/safelaunch/profiles",
                                 "/etc/safelaunch/profiles"});
  CHECK(paths(profile_search_path({})) ==
        std::vector<std::string>{"profiles", "/etc/safelaunch/profiles"});
}

TEST_CASE("the first folder that has a name wins, then the built-in ones", "[library]") {
  const TemporaryFolder folder;
  folder.write("one/mine.yaml", "description: of one");
  folder.write("two/mine.yaml", "description: of two");
  folder.write("two/basic.yaml", "description: of two");
  ProfileLibrary library({{folder / "one"}, {folder / "two"}}, kBuiltIn);

  CHECK(library.load("mine")->description == "of one");
  CHECK(library.load("basic")->description == "of two");
  CHECK(library.load("no-shm")->origin == "profiles/no-shm.yaml (built in)");
  CHECK(library.load("no-shm")->extends == "basic");
  CHECK(library.names() == std::vector<std::string>{"basic", "mine", "no-shm"});
}

TEST_CASE("a profile can be given as a file, and extend one by name", "[library]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("x/mine.yaml", "extends: basic\nname: other");
  ProfileLibrary library({}, kBuiltIn);

  const Profile profile = library.load(path).value();
  CHECK(profile.name == "other");
  CHECK(profile.extends == "basic");
  CHECK(library.load(folder / "none.yaml").error().message ==
        folder / "none.yaml" + ": there is no such profile file");
}

TEST_CASE("an unknown name is told with the nearest one", "[library]") {
  ProfileLibrary library({}, kBuiltIn);

  CHECK(library.load("no-smh").error().message ==
        "there is no profile 'no-smh'; did you mean 'no-shm'?");
  CHECK(library.load("zzzzzzzz").error().message ==
        "there is no profile 'zzzzzzzz'; `safelaunch profiles list` shows those there are");
  CHECK(library.load("..").has_error());
  CHECK(library.load("").has_error());
  const std::vector<std::string> chain{"basic", "nope"};
  CHECK(library.load_chain(chain, "safelaunch.yaml:3:4")
            .error()
            .message.starts_with("safelaunch.yaml:3:4: there is no profile 'nope'"));
}

TEST_CASE("a file that calls itself otherwise is refused by name", "[library]") {
  const TemporaryFolder folder;
  const std::string path = folder.write("mine.yaml", "name: yours");
  ProfileLibrary library({{folder / "."}}, {});

  CHECK(library.load("mine").error().message.ends_with(
      "the profile calls itself 'yours'; rename the file or the profile"));
  CHECK(library.load(path)->name == "yours");
}

TEST_CASE("only the files that are named are read", "[library]") {
  const TemporaryFolder folder;
  folder.write("broken.yaml", "cost: [");
  folder.write("mine.yaml", "{}");
  ProfileLibrary library({{folder / "."}}, kBuiltIn);

  CHECK(library.load("mine").has_value());
  CHECK(library.load("basic").has_value());
  CHECK(library.take_warnings().empty());
}

TEST_CASE("a broken file that nobody asked for is left out with a warning", "[library]") {
  const TemporaryFolder folder;
  folder.write("broken.yaml", "cots: none");
  ProfileLibrary library({{folder / "."}}, kBuiltIn);

  CHECK(library.load_all().size() == 2);
  const std::vector<std::string> warnings = library.take_warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].ends_with("a profile has no key 'cots'; did you mean 'cost'?; passed over"));
  CHECK(library.take_warnings().empty());
}

TEST_CASE("an unsafe file is an error where the user pointed us", "[library]") {
  const TemporaryFolder folder;
  folder.write("basic.yaml", "description: evil", 0666);
  ProfileLibrary library({{folder / "."}}, kBuiltIn);

  CHECK(library.load("basic").error().message.find("everybody can write to it") !=
        std::string::npos);
}

TEST_CASE("an unsafe file in the working directory is passed over when its name is asked for",
          "[library]") {
  const TemporaryFolder folder;
  folder.write("basic.yaml", "description: evil", 0666);
  ProfileLibrary library({{folder / ".", Untrusted::pass_over}}, kBuiltIn);

  CHECK(library.take_warnings().empty());
  CHECK(library.load("basic")->description == "built in");
  CHECK(library.load("basic")->description == "built in");
  const std::vector<std::string> warnings = library.take_warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("everybody can write to it") != std::string::npos);
  CHECK(warnings[0].ends_with("; passed over"));
}

TEST_CASE("a good file in a working directory that others can write to is passed over",
          "[library]") {
  const TemporaryFolder folder;
  folder.write("p/basic.yaml", "description: swapped");
  REQUIRE(chmod((folder / "p").c_str(), 0777) == 0);
  ProfileLibrary library({{folder / "p", Untrusted::pass_over}}, kBuiltIn);

  CHECK(library.load("basic")->description == "built in");
  CHECK(library.take_warnings().size() == 1);
}

TEST_CASE("a profile of the working directory is told when it is used", "[library]") {
  const TemporaryFolder folder;
  folder.write("mine.yaml", "env: {NCCL_DEBUG: INFO}");
  ProfileLibrary library({{folder / ".", Untrusted::pass_over}}, kBuiltIn);

  CHECK(library.load("mine").has_value());
  CHECK(library.take_warnings() == std::vector<std::string>{"uses " + folder / "." + "/mine.yaml"});
}

TEST_CASE("a list of all profiles uses none of them", "[library]") {
  const TemporaryFolder folder;
  folder.write("mine.yaml", "env: {NCCL_DEBUG: INFO}");
  folder.write("other.yaml", "env: {NCCL_DEBUG: WARN}");
  ProfileLibrary library({{folder / ".", Untrusted::pass_over}}, kBuiltIn);

  CHECK(library.load("mine").has_value());
  CHECK(library.load_all().size() >= 2);
  CHECK(library.take_warnings() == std::vector<std::string>{"uses " + folder / "." + "/mine.yaml"});
}

TEST_CASE("no built-in profile is replaced from the working directory unless its file is named",
          "[library]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("basic.yaml", "description: replaced");
  ProfileLibrary library({{folder / ".", Untrusted::pass_over}}, kBuiltIn);

  CHECK(library.load("basic")->description == "built in");
  const std::vector<std::string> warnings = library.take_warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("has the name of a built-in profile") != std::string::npos);
  CHECK(library.load(file)->description == "replaced");
  CHECK(ProfileLibrary({{folder / "."}}, kBuiltIn).load("basic")->description == "replaced");
}

TEST_CASE("a profile of the working directory that runs code must be named by its file",
          "[library]") {
  const TemporaryFolder folder;
  folder.write("evil.yaml", "env: {LD_PRELOAD: /x.so}");
  folder.write("also.yaml", "args: {append: [--evil]}");
  ProfileLibrary library({{folder / ".", Untrusted::pass_over}}, kBuiltIn);

  CHECK(library.load("evil").error().message.find("it sets LD_PRELOAD; `--profile") !=
        std::string::npos);
  CHECK(library.load("also").has_error());
  CHECK(library.load(folder / "evil.yaml").has_value());
}

TEST_CASE("profiles hold no mistake only where no file of a user can take part", "[library]") {
  const TemporaryFolder folder;
  const std::vector<std::string> shipped{"basic", "no-shm"};
  const std::vector<std::string> own{"basic", "mine"};
  const SearchFolder searched{folder / "profiles"};

  CHECK(ProfileLibrary({searched}, kBuiltIn).all_built_in(shipped));
  CHECK_FALSE(ProfileLibrary({searched}, kBuiltIn).all_built_in(own));
  folder.write("profiles/other.yaml", "extends: basic");
  CHECK_FALSE(ProfileLibrary({searched}, kBuiltIn).all_built_in(shipped));
}

TEST_CASE("a profile that lists numbers of processes is as many rungs of the chain", "[library]") {
  const TemporaryFolder folder;
  folder.write("p/fewer.yaml", "extends: basic\nprocesses: [4, 2]");
  ProfileLibrary library({{folder / "p"}}, kBuiltIn);
  const std::vector<std::string> chain{"basic", "fewer", "nothing"};
  const auto rungs = library.with_rungs(chain);
  CHECK(rungs == std::vector<std::string>{"basic", "fewer@4", "fewer@2", "nothing"});
  const Profile second = *library.load(rungs[2]);
  CHECK(second.name == "fewer@2");
  CHECK(second.processes == 2);
  CHECK(second.ladder.empty());
  CHECK(library.load("basic@3")->processes == 3);
  CHECK(library.load("fewer@0").error().message.find("no profile 'fewer@0'") != std::string::npos);
}

TEST_CASE("files that extend each other are a circle, by whatever paths they are named",
          "[library]") {
  const TemporaryFolder folder;
  folder.write("a.yaml", "extends: " + folder / "b.yaml");
  folder.write("b.yaml", "extends: " + folder / "a.yaml");
  ProfileLibrary library({}, kBuiltIn);
  CHECK(library.load(folder / "a.yaml").error().message ==
        folder / "b.yaml" + ":1:10: extends goes in a circle: a → b → " + folder / "a.yaml");
  folder.write("basic.yaml", "extends: basic\ncost: small");
  CHECK(library.load(folder / "basic.yaml")->description.empty());
  CHECK(library.load(folder / "basic.yaml")->cost == Cost::small);
  CHECK(ProfileLibrary({{folder / "."}}, kBuiltIn)
            .load("basic")
            .error()
            .message.ends_with("extends goes in a circle: basic → basic"));
}

TEST_CASE("a word is a profile on a number of processes only where the number can be",
          "[library]") {
  struct Row {
    const char* word;
    const char* profile;
    std::optional<int> processes;
  };
  const Row rows[] = {
      {"basic", "basic", std::nullopt},
      {"basic@4", "basic", 4},
      {"basic@1", "basic", 1},
      {"basic@4096", "basic", 4096},
      {"basic@4097", "basic@4097", std::nullopt},
      {"basic@0", "basic@0", std::nullopt},
      {"basic@-1", "basic@-1", std::nullopt},
      {"basic@", "basic@", std::nullopt},
      {"basic@4x", "basic@4x", std::nullopt},
      {"basic@@4", "basic@", 4},
      {"./a@b.yaml", "./a@b.yaml", std::nullopt},
      {"./a.yaml@2", "./a.yaml", 2},
      {"@4", "", 4},
      {"", "", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.word);
    CHECK(rung_in(row.word).profile == row.profile);
    CHECK(rung_in(row.word).processes == row.processes);
  }
}

TEST_CASE("a file on a number of processes, and one that calls itself otherwise", "[library]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("x.yaml", "processes: [4, 2]");
  ProfileLibrary library({}, kBuiltIn);
  const Profile two = library.load(file + "@2").value();
  CHECK(two.name == "x@2");
  CHECK(two.processes == 2);
  CHECK(two.ladder.empty());
  const std::vector<std::string> chain{file};
  CHECK(library.with_rungs(chain) == std::vector<std::string>{file + "@4", file + "@2"});
}

TEST_CASE("what no profile can be called is told, and a file that lies here is named",
          "[library]") {
  ProfileLibrary library({}, kBuiltIn);
  for (const char* word : {"", "-x", "a b", ".hidden", "a,b"})
    CHECK(library.load(word).error().message.starts_with("there is no profile '" +
                                                         std::string(word) + "'"));
  CHECK(library.load("none/such").error().message == "none/such: there is no such profile file");
  CHECK(library.load("such.yml").error().message == "such.yml: there is no such profile file");
}

TEST_CASE("only files of profiles are names, and a folder that is not there holds none",
          "[library]") {
  const TemporaryFolder folder;
  for (const char* file : {"a.yaml", "b.yml", "c.yaml~", ".d.yaml", "e f.yaml", "g"})
    folder.write(file, "{}");
  CHECK(ProfileLibrary({{folder / "."}, {folder / "none"}}, {}).names() ==
        std::vector<std::string>{"a"});
  CHECK(ProfileLibrary({}, {}).names().empty());
}

TEST_CASE("a chain is read in its order, and its first mistake ends it", "[library]") {
  ProfileLibrary library({}, kBuiltIn);
  const std::vector<std::string> good{"no-shm", "basic@2", "basic"};
  std::vector<std::string> names;
  for (const Profile& profile : library.load_chain(good, "--profile").value())
    names.push_back(profile.name);
  CHECK(names == std::vector<std::string>{"no-shm", "basic@2", "basic"});
  const std::vector<std::string> bad{"basic", "nope", "nada"};
  CHECK(library.load_chain(bad, "").error().message.starts_with("there is no profile 'nope'"));
  CHECK(library.load_chain(bad, "--profile")
            .error()
            .message.starts_with("--profile: there is no profile 'nope'"));
  CHECK(library.load_chain({}, "")->empty());
}

TEST_CASE("a file of the working directory that is passed over is told beside the unknown name",
          "[library]") {
  const TemporaryFolder folder;
  folder.write("mine.yaml", "env: {LD_PRELOAD: x}");
  ProfileLibrary library({{folder / ".", Untrusted::pass_over}}, kBuiltIn);
  const std::string message = library.load("mine").error().message;
  CHECK(message.starts_with("there is no profile 'mine'; `safelaunch profiles list` shows"));
  CHECK(message.ends_with("it sets LD_PRELOAD; `--profile ./" + folder / "." +
                          "/mine.yaml` says that you trust it; passed over"));
}

TEST_CASE("the same text as a built-in profile's is no replacement of it", "[library]") {
  const TemporaryFolder folder;
  folder.write("basic.yaml", kBuiltIn[0].text);
  ProfileLibrary library({{folder / ".", Untrusted::pass_over}}, kBuiltIn);
  CHECK(library.load("basic")->origin == "profiles/basic.yaml (built in)");
  CHECK(library.take_warnings().empty());
}
