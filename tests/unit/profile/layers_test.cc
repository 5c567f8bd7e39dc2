#include "safelaunch/profile/layers.h"

#include <filesystem>

#include "catch.h"
#include "safelaunch/profile/told_settings.h"
#include "temporary_folder.h"

using namespace safelaunch;

using namespace safelaunch::profile;
using safelaunch::testing::TemporaryFolder;
using Whose = ConfigPlace::Whose;

namespace {

using Lines = std::vector<std::string>;

// Tests of ./safelaunch.yaml need a working directory of their own.
class InFolder {
 public:
  explicit InFolder(const std::string& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;
  ~InFolder() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

// The files of a host, a user and a folder, each of which may be left out.
class Files {
 public:
  void put(Whose whose, const std::string& text) {
    const std::string path = folder_.write(name(whose), text);
    places_.push_back({whose, path, whose == Whose::named ? "--config" : ""});
  }

  [[nodiscard]] std::vector<ConfigLayer> layers() const { return read_layers(places_); }
  [[nodiscard]] Config config() const { return combined(layers()); }
  [[nodiscard]] std::string path(Whose whose) const { return folder_ / name(whose); }

 private:
  static const char* name(Whose whose) {
    switch (whose) {
      case Whose::host: return "host.yaml";
      case Whose::user: return "user.yaml";
      case Whose::folder: return "folder.yaml";
      case Whose::named: return "named.yaml";
    }
    return "";
  }

  TemporaryFolder folder_;
  std::vector<ConfigPlace> places_;
};

std::string refusal(const ConfigLayer& layer) {
  return layer.refusal ? layer.refusal->message : "none";
}

Lines names_of(const Config& config) {
  Lines names;
  for (const ClusterRule& rule : config.clusters) names.push_back(rule.name);
  return names;
}

}  // namespace

TEST_CASE("the files are looked at in the documented order", "[layers]") {
  const TemporaryFolder folder;
  const std::string given = folder.write("given.yaml", "");
  const Environment environment{{"SAFELAUNCH_CONFIG", "named.yaml"},
                                {"XDG_CONFIG_HOME", folder / "xdg"}};
  const auto paths = [&](std::string_view asked, const Environment& variables) {
    Lines result;
    for (const ConfigPlace& place : config_places(asked, variables))
      result.push_back(place.path + (place.named_by.empty() ? "" : " by " + place.named_by));
    return result;
  };
  const std::string host = "/etc/safelaunch/safelaunch.yaml";
  const std::string user = folder / "xdg/safelaunch/safelaunch.yaml";
  CHECK(paths(given, environment) == Lines{host, user, given + " by --config"});
  CHECK(paths("", environment) == Lines{host, user, "named.yaml by SAFELAUNCH_CONFIG"});
  CHECK(paths("", {{"XDG_CONFIG_HOME", folder / "xdg"}}) == Lines{host, user, "safelaunch.yaml"});
  CHECK(paths("", {}) == Lines{host, "safelaunch.yaml"});
}

TEST_CASE("a file that is two of the places is the lower one alone", "[layers]") {
  const TemporaryFolder folder;
  const std::string user = folder.write("xdg/safelaunch/safelaunch.yaml", "chain: [a]");
  const Environment environment{{"XDG_CONFIG_HOME", folder / "xdg"}};
  CHECK(config_places(user, environment).size() == 2);
  const InFolder here(folder / "xdg/safelaunch");
  CHECK(config_places("", environment).size() == 2);
}

TEST_CASE("each key of a nearer file stands over the same key below it, and no other", "[layers]") {
  Files files;
  files.put(Whose::host,
            "chain: [a, b]\nenv: {A: host, B: host, C: host}\n"
            "options: {grace: 5s, port: keep, verbose: true}");
  files.put(Whose::user, "chain: [c]\nenv: {B: user}\nunset: [C]\noptions: {quiet: true}");
  files.put(Whose::named, "env: {D: named}\noptions: {grace: 9s}");
  const Config config = files.config();
  const Rules& rules = config.everywhere;
  CHECK(rules.chain == Lines{"c"});
  CHECK(to_string(rules.chain_place) == files.path(Whose::user) + ":1:8");
  CHECK(rules.variables.env.size() == 3);
  CHECK(rules.variables.env.at("A").place.file == files.path(Whose::host));
  CHECK(rules.variables.env.at("B").value == "user");
  CHECK(rules.variables.env.at("D").value == "named");
  CHECK(rules.variables.unset == Lines{"C"});
  CHECK(rules.options.at("grace") == settings::Setting{"9s", files.path(Whose::named) + ":2:18"});
  CHECK(rules.options.at("port").value == "keep");
  CHECK_FALSE(rules.options.contains("verbose"));
  CHECK(config.origin ==
        files.path(Whose::named) + ", " + files.path(Whose::user) + ", " + files.path(Whose::host));
}

TEST_CASE("what a nearer file sets comes before the cluster rule of a file below", "[layers]") {
  Files files;
  files.put(Whose::host,
            "chain: [a]\nclusters:\n"
            "  - {name: lab, match: {hostname: x}, chain: [b], env: {A: lab, B: lab}}");
  files.put(Whose::user, "chain: [c]\nenv: {A: user}");
  const Config config = files.config();
  const Rules rules = rules_for(config, &config.clusters.at(0));
  CHECK(rules.chain == Lines{"c"});
  CHECK(rules.variables.env.at("A").value == "user");
  CHECK(rules.variables.env.at("B").value == "lab");
}

TEST_CASE("cluster rules of one name are one rule, and those of the nearer file come first",
          "[layers]") {
  Files files;
  files.put(Whose::host,
            "clusters:\n  - {name: lab, match: {hostname: x}, chain: [b], env: {A: host}}\n"
            "  - {name: all, match: {hostname: '.*'}}");
  files.put(Whose::user,
            "clusters:\n  - {name: mine, match: {hostname: y}}\n"
            "  - {name: lab, env: {A: user}}");
  const Config config = files.config();
  CHECK(names_of(config) == Lines{"mine", "lab", "all"});
  const ClusterRule* rule = choose_cluster(config, "", {"x", {}, {}, {}}).value();
  REQUIRE(rule != nullptr);
  CHECK(rule->name == "lab");
  const Rules rules = rules_for(config, rule);
  CHECK(rules.chain == Lines{"b"});
  CHECK(rules.variables.env.at("A").value == "user");
}

TEST_CASE("the match of a cluster rule is replaced as a whole", "[layers]") {
  Files files;
  files.put(Whose::host, "clusters: [{name: lab, match: {hostname: x, gpu: H100}}]");
  files.put(Whose::user, "clusters: [{name: lab, match: {hostname: y}}]");
  const ClusterMatch match = files.config().clusters.at(0).match;
  CHECK(match.hostname == "y");
  CHECK(match.gpu.empty());
}

TEST_CASE("a key that the host's file locks is refused with its place and that of the lock",
          "[layers]") {
  const auto refused = [](const std::string& lock, const std::string& text) {
    Files files;
    files.put(Whose::host, "lock: [" + lock + "]");
    files.put(Whose::user, text);
    std::string said = refusal(files.layers().at(1));
    for (const Whose whose : {Whose::host, Whose::user}) {
      const std::string path = files.path(whose);
      for (std::size_t at = said.find(path); at != std::string::npos; at = said.find(path))
        said.replace(at, path.size(), whose == Whose::host ? "H" : "U");
    }
    return said;
  };
  CHECK(refused("chain", "env: {A: b}\nchain: [a]") == "U:2:1: chain is locked by H:1:8");
  CHECK(refused("env.A", "env: {B: b, A: b}") == "U:1:13: env.A is locked by H:1:8");
  CHECK(refused("env.A", "unset: [A]") == "U:1:9: env.A is locked by H:1:8");
  CHECK(refused("env", "env: {B: b}") == "U:1:7: env.B is locked by H:1:8");
  CHECK(refused("options.clean", "options: {clean: off}") ==
        "U:1:11: options.clean is locked by H:1:8");
  CHECK(refused("options", "options: {clean: off}") == "U:1:11: options.clean is locked by H:1:8");
  CHECK(refused("options.verbose", "options: {quiet: true}") ==
        "U:1:11: options.verbose is locked by H:1:8");
  CHECK(refused("chain", "clusters: [{name: x, chain: [a]}]") ==
        "U:1:22: chain is locked by H:1:8");
  CHECK(refused("clusters.x", "clusters: [{name: x}]") == "U:1:12: clusters.x is locked by H:1:8");
  CHECK(refused("clusters", "clusters: [{name: y}]") == "U:1:12: clusters.y is locked by H:1:8");
  CHECK(refused("chain, env.A", "chain: [a]\nenv: {A: b}") ==
        "U:1:1: chain is locked by H:1:8\nU:2:7: env.A is locked by H:1:15");
  CHECK(refused("chain, env.A", "env: {B: b}\noptions: {grace: 5s}") == "none");
}

TEST_CASE("a lock holds in the host's file alone", "[layers]") {
  Files files;
  files.put(Whose::host, "chain: [a]\nlock: [chain]");
  files.put(Whose::named, "lock: [env]");
  const std::vector<ConfigLayer> layers = files.layers();
  CHECK(layers.at(0).config);
  CHECK(refusal(layers.at(1)) ==
        files.path(Whose::named) + ":1:1: lock holds in /etc/safelaunch/safelaunch.yaml alone");
}

TEST_CASE("a folder's file that sets a locked key is passed over, and ends no run", "[layers]") {
  Files files;
  files.put(Whose::host, "lock: [chain]");
  files.put(Whose::folder, "chain: [a]");
  const ConfigLayer layer = files.layers().at(1);
  CHECK_FALSE(layer.refusal);
  CHECK_FALSE(layer.config);
  CHECK(layer.passed_over.value() ==
        files.path(Whose::folder) + ":1:1: chain is locked by " + files.path(Whose::host) + ":1:8");
}

TEST_CASE("a config file that is named must be there", "[layers]") {
  CHECK(find_config("/none/such.yaml", {}).error().message ==
        "/none/such.yaml: there is no such file (--config)");
  CHECK(find_config({}, {{"SAFELAUNCH_CONFIG", "/none/such.yaml"}}).error().message ==
        "/none/such.yaml: there is no such file (SAFELAUNCH_CONFIG)");
}

TEST_CASE("an unsafe config file is passed over here, and refused elsewhere", "[layers]") {
  const TemporaryFolder folder;
  folder.write("here/safelaunch.yaml", "chain: [evil]", 0666);
  const InFolder here(folder / "here");
  const Environment environment{{"XDG_CONFIG_HOME", folder / "xdg"}};

  const FoundConfig found = find_config({}, environment).value();
  CHECK(found.config.everywhere.chain.empty());
  REQUIRE(found.warnings.size() == 1);
  CHECK(
      found.warnings[0].starts_with("./safelaunch.yaml is passed over: safelaunch.yaml: refused: "
                                    "everybody can write to it"));

  folder.write("xdg/safelaunch/safelaunch.yaml", "chain: [evil]", 0620);
  CHECK(find_config({}, environment).error().message.find("its group can write") !=
        std::string::npos);
}

TEST_CASE("a config file of the working directory decides nothing that needs trust", "[layers]") {
  const TemporaryFolder folder;
  folder.write("here/safelaunch.yaml", "chain: [a]");
  const InFolder here(folder / "here");
  const Environment environment{{"XDG_CONFIG_HOME", folder / "xdg"}};
  CHECK(find_config({}, environment)->warnings.empty());
  CHECK(find_config({}, environment)->unasked == "chain: [a]");
  CHECK(find_config("./safelaunch.yaml", environment)->unasked.empty());

  folder.write("here/safelaunch.yaml", "env: {LD_PRELOAD: /x.so}");
  const FoundConfig found = find_config({}, environment).value();
  CHECK(found.config.everywhere.variables.env.empty());
  CHECK(found.unasked.empty());
  CHECK(found.warnings ==
        std::vector<std::string>{"./safelaunch.yaml is passed over: it sets LD_PRELOAD; `--config "
                                 "./safelaunch.yaml` says that you trust it"});
  CHECK(find_config("./safelaunch.yaml", environment)->config.everywhere.variables.env.size() == 1);
}

TEST_CASE("a config that is empty, a folder or a link is told by its path", "[layers]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("real.yaml", "chain: [a]");
  std::filesystem::create_symlink(file, folder / "link.yaml");
  std::filesystem::create_directory(folder / "folder.yaml");
  CHECK(find_config(folder / "link.yaml", {})
            .error()
            .message.starts_with(
                folder / "link.yaml" +
                ": refused: it is a symbolic link; name the file that it points to"));
  CHECK(find_config(folder / "folder.yaml", {}).error().message ==
        folder / "folder.yaml" + ": refused: it is a directory, not a regular file");
  CHECK(find_config(folder.write("empty.yaml", ""), {})->config.everywhere.chain.empty());
  CHECK(find_config(folder.write("bad.yaml", "cain: a"), {}).error().message ==
        folder / "bad.yaml" + ":1:1: a config file has no key 'cain'; did you mean 'chain'?");
}

TEST_CASE("settings are told once, and again where their text has changed", "[layers]") {
  const std::string first = memory_with("", "chain: [a]").value();
  CHECK_FALSE(memory_with(first, "chain: [a]"));
  const std::string both = memory_with(first, "chain: [b]").value();
  CHECK(both.starts_with(first));
  CHECK_FALSE(memory_with(both, "chain: [a]"));
  CHECK_FALSE(memory_with(both, "chain: [b]"));
}

TEST_CASE("the memory of told settings does not grow for ever", "[layers]") {
  std::string memory;
  for (int i = 0; i < 1'200; ++i) memory = memory_with(memory, std::to_string(i)).value();
  CHECK(memory.size() == 17'000);
  CHECK(memory_with(memory, "0"));
  CHECK_FALSE(memory_with(memory, "1199"));
}

TEST_CASE("what cannot be remembered is told each time", "[layers]") {
  CHECK(first_telling({}, "chain: [a]").value().file.empty());
}
