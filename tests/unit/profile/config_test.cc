#include "safelaunch/profile/config.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::profile;

namespace {

using Words = std::vector<std::string>;

constexpr const char* kExample = R"(chain: [basic, no-shm]
env: {A: everywhere, B: everywhere}
options: {init-timeout: 60s, port: auto}
clusters:
  - name: hgx
    match: {hostname: "gpu-[0-9]+", gpu: "H[12]00", env: {SLURM_CLUSTER_NAME: prod}}
    chain: basic,no-nvls
    env: {NCCL_SOCKET_IFNAME: "=bond0", B: hgx}
    unset: [A]
    options: {port: keep}
  - name: lab
    match: {network: 10.8.0.0/16}
    env: {C: lab}
  - name: by-hand
    env: {D: hand}
)";

Config example() {
  return read_config(kExample, "s.yaml").value();
}

ClusterHost hgx() {
  return {"gpu-12.example.org",
          {"NVIDIA A100", "NVIDIA H100 80GB HBM3"},
          {"127.0.0.1", "192.168.0.3"},
          {{"SLURM_CLUSTER_NAME", "prod"}}};
}

std::string chosen(const ClusterHost& host) {
  const Config config = example();
  const ClusterRule* rule = choose_cluster(config, {}, host).value();
  return rule == nullptr ? "none" : rule->name;
}

std::string refusal_of_config(std::string_view text) {
  const Result<Config> config = read_config(text, "s.yaml");
  return config.has_error() ? config.error().message : "accepted";
}

}  // namespace

TEST_CASE("the mistakes of a config file are told together, those of its clusters too",
          "[config]") {
  CHECK(refusal_of_config(R"(cain: basic
options: {port: 99999999, init-timeot: 3s}
clusters:
  - {name: a, match: {network: here, gpu: "["}}
  - {name: a, match: {hostname: b}}
  - {match: {hostname: b}}
)") == "s.yaml:1:1: a config file has no key 'cain'; did you mean 'chain'?\n"
       "s.yaml:2:17: port: '99999999' is no port and no range of ports; write a number from 1 to "
       "65535, or two as in 20000-25000, or keep, or auto\n"
       "s.yaml:2:27: there is no option 'init-timeot'; did you mean 'init-timeout'?\n"
       "s.yaml:4:32: network: 'here' is not a network such as 10.8.0.0/16 or fd00::/8\n"
       "s.yaml:4:43: gpu: '[' is not a regular expression: missing ]: [\n"
       "s.yaml:5:5: there is a cluster rule 'a' already, in line 4\n"
       "s.yaml:6:5: a cluster rule needs a name");
}

TEST_CASE("a cluster rule is chosen when all its conditions hold", "[config]") {
  CHECK(chosen(hgx()) == "hgx");

  ClusterHost host = hgx();
  host.hostname = "gpu-12";
  CHECK(chosen(host) == "hgx");
  host.hostname = "my-gpu-12";
  CHECK(chosen(host) == "none");

  host = hgx();
  host.gpus = {"NVIDIA A100"};
  CHECK(chosen(host) == "none");
  host.gpus = {};
  CHECK(chosen(host) == "none");

  host = hgx();
  host.environment["SLURM_CLUSTER_NAME"] = "preprod";
  CHECK(chosen(host) == "none");
  host.environment.clear();
  CHECK(chosen(host) == "none");
}

TEST_CASE("the first rule that matches is chosen, or the one that is named", "[config]") {
  const Config config = example();
  ClusterHost host = hgx();
  host.addresses.emplace_back("10.8.3.4");
  CHECK(choose_cluster(config, {}, host).value()->name == "hgx");
  host.hostname = "x";
  CHECK(choose_cluster(config, {}, host).value()->name == "lab");

  CHECK(choose_cluster(config, "by-hand", host).value()->name == "by-hand");
  CHECK(choose_cluster(config, "hgx", {}).value()->name == "hgx");
  CHECK(choose_cluster(config, "hgy", host).error().message ==
        "--cluster hgy: there is no such rule in s.yaml; did you mean 'hgx'?");
  CHECK(
      choose_cluster({}, "hgx", host).error().message ==
      "--cluster hgx: there is no safelaunch.yaml here, which would hold the rule; --config names "
      "one elsewhere");
  CHECK(choose_cluster({}, {}, host).value() == nullptr);
}

TEST_CASE("a cluster rule stands over what holds everywhere", "[config]") {
  const Config config = example();

  const Rules everywhere = rules_for(config, nullptr);
  CHECK(everywhere.chain == Words{"basic", "no-shm"});
  CHECK(everywhere.variables.env.at("A").value == "everywhere");
  CHECK(everywhere.options.at("init-timeout") == settings::Setting{"60s", "s.yaml:3:25"});

  const Rules rules = rules_for(config, &config.clusters.at(0));
  CHECK(rules.chain == Words{"basic", "no-nvls"});
  CHECK(to_string(rules.chain_place) == "s.yaml:7:12");
  CHECK(rules.variables.env.at("B").value == "hgx");
  CHECK(rules.variables.env.count("A") == 0);
  CHECK(rules.variables.unset == Words{"A"});
  CHECK(rules.options.at("port").value == "keep");
  CHECK(rules.options.at("init-timeout").value == "60s");
}

TEST_CASE("GPU names are asked for only where a rule looks at them", "[config]") {
  CHECK(asks_for_gpus(example()));
  CHECK_FALSE(
      asks_for_gpus(read_config("clusters: [{name: a, match: {hostname: x}}]", "f").value()));
  CHECK_FALSE(asks_for_gpus({}));
}

TEST_CASE("a bad config file is refused at the exact place", "[config]") {
  struct Bad {
    const char* text;
    const char* refusal_of_config;
  };
  const Bad bad[] = {
      {"- a", "s.yaml:1:1: a config file must be a map of keys to values, not a list"},
      {"cluster: []", "s.yaml:1:1: a config file has no key 'cluster'; did you mean 'clusters'?"},
      {"clusters: {a: b}", "s.yaml:1:11: clusters must be a list of rules, each with '- name: …'"},
      {"clusters: [a]",
       "s.yaml:1:12: a cluster rule must be a map of keys to values, not one value"},
      {"clusters:\n  - chain: [basic]", "s.yaml:2:5: a cluster rule needs a name"},
      {"clusters:\n  - name: a\n  - name: a",
       "s.yaml:3:5: there is a cluster rule 'a' already, in line 2"},
      {"clusters: [{name: a, mach: {}}]",
       "s.yaml:1:22: a cluster rule has no key 'mach'; did you mean 'match'?"},
      {"clusters: [{name: a, match: {}}]",
       "s.yaml:1:29: match has no condition; what holds everywhere stands at the top level"},
      {"clusters: [{name: a, match: {host: x}}]",
       "s.yaml:1:30: match has no key 'host'; there are hostname, gpu, env, network"},
      {"clusters: [{name: a, match: {hostnam: x}}]",
       "s.yaml:1:30: match has no key 'hostnam'; did you mean 'hostname'?"},
      {"clusters: [{name: a, match: {hostname: [x]}}]", "s.yaml:1:40: hostname: not a word"},
      {"clusters: [{name: a, match: {gpu: \"\"}}]", "s.yaml:1:35: gpu: the pattern is empty"},
      {"clusters: [{name: a, match: {network: 10.0.0.0}}]",
       "s.yaml:1:39: network: '10.0.0.0' is not a network such as 10.8.0.0/16 or fd00::/8"},
      {"clusters: [{name: a, match: {env: [A]}}]",
       "s.yaml:1:35: env must be a map of variables to patterns"},
      {"clusters: [{name: a, match: {env: {A-B: x}}}]",
       "s.yaml:1:36: 'A-B' is not a variable name"},
      {"clusters: [{name: a, match: {env: {A: }}}]", "s.yaml:1:39: A: the pattern is empty"},
      {"chain: []", "s.yaml:1:8: chain must name at least one profile"},
      {"chain: [basic, {a: b}]", "s.yaml:1:16: chain must be a list of profiles"},
      {"chain: \"a,,b\"",
       "s.yaml:1:8: chain: 'a,,b' is not a list of profiles: a name between the commas is empty"},
      {"chain: [basic, no-shm, basic]",
       "s.yaml:1:8: chain: 'basic,no-shm,basic' is not a list of profiles: basic is there twice"},
      {"options: {init-timeout: soon}",
       "s.yaml:1:25: init-timeout: 'soon' is not a duration: write a number and ms, s, min, h or "
       "d, such as 90s or 30min (0 or off: none)"},
      {"options: {inti-timeout: 5s}",
       "s.yaml:1:11: there is no option 'inti-timeout'; did you mean 'init-timeout'?"},
      {"options: {cluster: a}",
       "s.yaml:1:11: 'cluster' is not read from files; give --cluster or set SAFELAUNCH_CLUSTER"},
      {"options: {max-attempts: many}",
       "s.yaml:1:25: max-attempts: 'many' is not a whole number from 1 to 1000"},
      {"options: {only: maybe}", "s.yaml:1:17: only: 'maybe' is not true or false"},
      {"env: {MASTER_PORT: 1}",
       "s.yaml:1:7: MASTER_PORT is given to each rank by safelaunch or the launcher; it cannot be "
       "set here"},
  };
  for (const Bad& each : bad) {
    INFO(each.text);
    CHECK(refusal_of_config(each.text) == each.refusal_of_config);
  }
  CHECK(refusal_of_config("clusters: [{name: a, match: {hostname: \"gpu-[\"}}]")
            .starts_with("s.yaml:1:40: hostname: 'gpu-[' is not a regular expression: "));
}

TEST_CASE("an empty config file changes nothing", "[config]") {
  const Config config = read_config("# nothing\n", "s.yaml").value();

  CHECK(config.origin == "s.yaml");
  CHECK(config.clusters.empty());
  CHECK(config.everywhere.chain.empty());
}

TEST_CASE("a pattern that would take for ever is refused or takes no time", "[config]") {
  const std::string text(300, 'a');

  CHECK_FALSE(matches_whole("(a+)+b", text));
  CHECK_FALSE(matches_whole("(a|aa)+b", text));
  CHECK_FALSE(occurs_in("(.*)(.*)(.*)(.*)(.*)x", text));
  CHECK(matches_whole("(a*)*", text));
  CHECK(refuse_pattern("((x{99}){99}){99}"));
  CHECK(refuse_pattern("x{9999999}"));
  CHECK(refuse_pattern(std::string(201, 'a')));
  CHECK(refuse_pattern("(a)\\1"));
  for (const char* pattern : {"", "(", "[", "(?=a)", "*"}) {
    INFO(pattern);
    CHECK(refuse_pattern(pattern));
  }
  CHECK_FALSE(refuse_pattern("gpu-\\d{3}"));
}

TEST_CASE("a lock names keys of the file, and nothing else", "[config]") {
  const Config config =
      read_config("lock: [chain, env, env.A, options.clean, clusters, clusters.hgx]", "s.yaml")
          .value();
  CHECK(config.locks.size() == 6);
  CHECK(to_string(config.locks.at(2).place) == "s.yaml:1:20");
  CHECK(
      refusal_of_config("lock: [chian]") ==
      "s.yaml:1:8: lock: 'chian' is no key; did you mean 'chain'? (chain, env, env.NAME, options, "
      "options.NAME, clusters, clusters.NAME)");
  CHECK(refusal_of_config("lock: [clean]") ==
        "s.yaml:1:8: lock: 'clean' is no key; did you mean 'options.clean'?");
  CHECK(refusal_of_config("lock: [options.profile]").find("is no key") != std::string::npos);
  CHECK(refusal_of_config("lock: [env.]").find("is no key") != std::string::npos);
  CHECK(refusal_of_config("lock: [\"\"]").find("is no key") != std::string::npos);
  CHECK(refusal_of_config("lock: chain") == "s.yaml:1:7: lock must be a list of keys");
}

TEST_CASE("an address is in a network by its first bits", "[config]") {
  CHECK(is_in_network("10.8.255.1", "10.8.0.0/16"));
  CHECK_FALSE(is_in_network("10.9.0.1", "10.8.0.0/16"));
  CHECK(is_in_network("10.8.0.129", "10.8.0.128/25"));
  CHECK_FALSE(is_in_network("10.8.0.127", "10.8.0.128/25"));
  CHECK(is_in_network("1.2.3.4", "0.0.0.0/0"));
  CHECK(is_in_network("fd12::1", "fd00::/8"));
  CHECK_FALSE(is_in_network("10.8.0.1", "fd00::/8"));
  CHECK_FALSE(is_in_network("no address", "0.0.0.0/0"));
  for (const char* word : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0/8", "x/8", "::/129"})
    CHECK(refuse_network(word));
}

TEST_CASE("each condition of a rule must hold, and one that is not given holds", "[config]") {
  const ClusterHost host{"gpu-1.example.org",
                         {"NVIDIA H100 80GB HBM3"},
                         {"10.8.0.5", "fd00::5"},
                         {{"SITE", "north"}, {"EMPTY", ""}}};
  const auto holds = [&](const char* match) {
    const std::string text = "clusters: [{name: a, match: {" + std::string(match) + "}}]";
    return matches(read_config(text, "f").value().clusters.at(0).match, host);
  };
  for (const char* match :
       {"hostname: gpu-1", "hostname: gpu-1.example.org", "hostname: gpu-.*",
        "hostname: '(?i)GPU-1'", "gpu: H100", "gpu: ^NVIDIA H100", "env: {SITE: north}",
        "env: {SITE: nor.*, EMPTY: x*}", "network: 10.8.0.0/16", "network: 'fd00::/8'",
        "hostname: gpu-1, gpu: H100, network: 10.8.0.5/32"}) {
    INFO(match);
    CHECK(holds(match));
  }
  for (const char* match :
       {"hostname: gpu-1.example", "hostname: gpu", "hostname: GPU-1", "gpu: A100", "gpu: H100$",
        "env: {SITE: nor}", "env: {SITE: .*, NONE: .*}", "network: 10.9.0.0/16",
        "hostname: gpu-1, gpu: H100, network: 10.8.0.4/32", "hostname: gpu-2, gpu: H100"}) {
    INFO(match);
    CHECK_FALSE(holds(match));
  }
  CHECK_FALSE(matches({}, host));
}

TEST_CASE("a rule stands over the file key by key", "[config]") {
  struct Row {
    const char* everywhere;
    const char* rule;
    Words chain;
    std::vector<std::pair<std::string, std::string>> env;
    Words unset;
    std::string port;
  };
  const Row rows[] = {
      {"chain: [a]", "chain: [b]", {"b"}, {}, {}, ""},
      {"chain: [a]", "env: {A: 1}", {"a"}, {{"A", "1"}}, {}, ""},
      {"env: {A: 1, B: 1}", "env: {A: 2}", {}, {{"A", "2"}, {"B", "1"}}, {}, ""},
      {"env: {A: 1}", "unset: [A]", {}, {}, {"A"}, ""},
      {"unset: [A, B]", "env: {A: 1}", {}, {{"A", "1"}}, {"B"}, ""},
      {"options: {port: keep}", "options: {port: auto}", {}, {}, {}, "auto"},
      {"options: {port: keep}", "options: {}", {}, {}, {}, "keep"},
      {"{}", "options: {port: 5}", {}, {}, {}, "5"},
  };
  for (const Row& row : rows) {
    INFO(row.everywhere << " | " << row.rule);
    const std::string text = (std::string(row.everywhere) == "{}" ? "" : row.everywhere) +
                             std::string("\nclusters:\n  - name: r\n    ") + row.rule + "\n";
    const Config config = read_config(text, "f").value();
    const Rules rules = rules_for(config, &config.clusters.at(0));
    std::vector<std::pair<std::string, std::string>> env;
    for (const auto& [name, setting] : rules.variables.env) env.emplace_back(name, setting.value);
    CHECK(rules.chain == row.chain);
    CHECK(env == row.env);
    CHECK(rules.variables.unset == row.unset);
    const auto port = rules.options.find("port");
    CHECK((port == rules.options.end() ? "" : port->second.value) == row.port);
  }
}

TEST_CASE("where a rule is refused it is named with what the file has", "[config]") {
  const Config two = read_config("clusters: [{name: north}, {name: south}]", "s.yaml").value();
  const auto refusal_of_config = [&](std::string_view name) {
    return choose_cluster(two, name, {}).error().message;
  };
  CHECK(refusal_of_config("nroth") ==
        "--cluster nroth: there is no such rule in s.yaml; did you mean 'north'?");
  CHECK(refusal_of_config("zzz") == "--cluster zzz: there is no such rule in s.yaml");
  CHECK(choose_cluster(two, "zzz", {}).error().code == Errc::usage);
  CHECK(choose_cluster(two, {}, {}).value() == nullptr);
}

TEST_CASE("a pattern is bounded in its length, and a text in what is looked at", "[config]") {
  CHECK_FALSE(refuse_pattern(std::string(200, 'a')));
  CHECK(refuse_pattern(std::string(201, 'a')) == "the pattern is longer than 200 characters");
  CHECK(refuse_pattern("") == "the pattern is empty");
  CHECK(refuse_pattern("a{2,1}")->starts_with("'a{2,1}' is not a regular expression: "));
  CHECK(matches_whole("a{300}", std::string(400, 'a')));
  CHECK(occurs_in("a$", std::string(300, 'a') + "b"));
  CHECK_FALSE(occurs_in("b", std::string(300, 'a') + "b"));
  CHECK(matches_whole("\\xff+", "\xff\xff"));  // a host's name may be any bytes
}

TEST_CASE("networks at the ends of their range", "[config]") {
  struct Row {
    const char* address;
    const char* network;
    bool inside;
  };
  const Row rows[] = {
      {"10.0.0.1", "10.0.0.1/32", true},         {"10.0.0.2", "10.0.0.1/32", false},
      {"10.0.0.0", "10.0.0.1/31", true},         {"255.255.255.255", "128.0.0.0/1", true},
      {"127.255.255.255", "128.0.0.0/1", false}, {"fd00::1", "fd00::1/128", true},
      {"fd00::2", "fd00::1/128", false},         {"::", "::/0", true},
      {"::ffff:10.0.0.1", "10.0.0.0/8", false},  {"10.0.0.1", "::/0", false},
      {"10.0.0.1x", "10.0.0.0/8", false},        {"", "0.0.0.0/0", false},
      {"10.0.0.1/8", "10.0.0.0/8", false},
  };
  for (const Row& row : rows) {
    INFO(row.address << " in " << row.network);
    CHECK(is_in_network(row.address, row.network) == row.inside);
  }
  for (const char* word : {"/8", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/ 8", "10.0.0.0/8/8",
                           "010.0.0.0/8", "fd00::/129", "[fd00::]/8", "host/8"})
    CHECK(refuse_network(word) ==
          "'" + std::string(word) + "' is not a network such as 10.8.0.0/16 or fd00::/8");
}

TEST_CASE("a list of receivers becomes the value that the command line could give", "[config]") {
  const Config config = read_config(R"(options:
  notify:
    - command: [/usr/local/bin/tell-me, "it's", "$HOME"]
    - {url: https://a.b/c, form: feishu}
)",
                                    "s.yaml")
                            .value();
  CHECK(config.everywhere.options.at("notify").value ==
        R"(["exec '/usr/local/bin/tell-me' 'it'\\''s' '$HOME'","feishu:https://a.b/c"])");
}

TEST_CASE("a receiver with a wrong key or form is refused at its place", "[config]") {
  const auto refused = [](const std::string& entry) {
    return refusal_of_config("options:\n  notify:\n    - " + entry + "\n");
  };
  CHECK(refused("{comand: [a]}") ==
        "s.yaml:3:8: a receiver has no key 'comand'; did you mean 'command'?");
  CHECK(refused("{url: https://a.b/c, form: feishuu}") ==
        "s.yaml:3:34: 'feishuu' is not the form of a webhook (slack, feishu, dingtalk, wecom, "
        "json); did you mean 'feishu'?");
  CHECK(refused("{url: https://a.b/c, form: command}").find("'command' is not the form") !=
        std::string::npos);
  CHECK(refused("{command: tell-me}") ==
        "s.yaml:3:17: command must be a list of words: [PROGRAM, ARGUMENT, …]");
  CHECK(refused("tell-me") ==
        "s.yaml:3:7: a receiver must be a map of keys to values, not one value");
  for (const char* half : {"{url: https://a.b/c}", "{form: json}", "{}",
                           "{command: [a], url: https://a.b/c, form: json}"})
    CHECK(refused(half) ==
          "s.yaml:3:7: a receiver is {command: [PROGRAM, ARGUMENT, …]} or {url: https://…, form: "
          "slack|feishu|dingtalk|wecom|json}");
  CHECK(refused("{url: a.b/c, form: json}").find("'json:' without a URL") != std::string::npos);
  CHECK(refusal_of_config("options: {notify: []}") ==
        "s.yaml:1:19: notify must hold 1 to 16 receivers");
  CHECK(refusal_of_config("options: {cluster: [a]}").find("1:11") != std::string::npos);
  CHECK(refusal_of_config("notify: [{command: [a]}]")
            .find("s.yaml:1:1: notify is an option; write options: {notify: …}") !=
        std::string::npos);
}
