#include "safelaunch/nodes/node_facts.h"

#include "catch.h"
#include "safelaunch/nodes/node_evidence.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::nodes;
using namespace safelaunch::plan;

namespace {

/// The facts of a node that starts this command.
NodeFacts facts_of_command(std::vector<std::string> command, const Environment& environment = {}) {
  RunPlan plan;
  plan.command = job::recognise(std::move(command), environment);
  plan.environment = environment;
  plan.chain_names = {"basic", "no-shm"};
  return facts_of(plan);
}

}  // namespace

TEST_CASE("nodes that are alike differ in nothing", "[nodes]") {
  const NodeFacts facts{{"torch", "2.13.0"}, {"NCCL_IB_HCA", "mlx5_0"}};
  CHECK(differences({{"a", facts}, {"b", facts}}).empty());
  CHECK(differences({{"a", facts}}).empty());
}

TEST_CASE("a difference names the fact, the values and the nodes", "[nodes]") {
  const auto lines = differences({{"gpu-01", {{"torch", "2.13.0"}}},
                                  {"gpu-02", {{"torch", "2.13.0"}}},
                                  {"gpu-17", {{"torch", "2.12.1"}}}});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() == "the nodes differ in torch: 2.12.1 on gpu-17, 2.13.0 on gpu-01 gpu-02");
}

TEST_CASE("a variable of NCCL that one node lacks is a difference; an unknown version is none",
          "[nodes]") {
  const auto lines =
      differences({{"a", {{"NCCL_IB_DISABLE", "1"}, {"torch", "2.13.0"}}}, {"b", {{"x", "1"}}}});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() == "the nodes differ in NCCL_IB_DISABLE: (not set) on b, 1 on a");
}

TEST_CASE("a variable that is set to nothing is shown as empty", "[nodes]") {
  CHECK(differences({{"a", {{"NCCL_DEBUG", "WARN"}}}, {"b", {{"NCCL_DEBUG", ""}}}}).front() ==
        "the nodes differ in NCCL_DEBUG: (empty) on b, WARN on a");
}

TEST_CASE("of many nodes some are named, and the rest counted", "[nodes]") {
  std::map<std::string, NodeFacts> nodes{{"odd", {{"torch", "1"}}}};
  for (int i = 10; i < 90; ++i) nodes["n" + std::to_string(i)] = {{"torch", "2"}};
  CHECK(differences(nodes).front() ==
        "the nodes differ in torch: 1 on odd, 2 on n10 n11 n12 n13 and 76 more");
}

TEST_CASE("facts travel, and what is none is left out", "[nodes]") {
  const NodeFacts facts{{"torch", "2.13.0"}, {"the command", "torchrun x.py"}};
  CHECK(facts_from(to_text(facts)) == facts);
  CHECK(facts_from("[]").empty());
  CHECK(facts_from("{\"torch\":7,\"NCCL\":\"2\"}") == NodeFacts{{"NCCL", "2"}});
}

TEST_CASE("the words of a launcher that each node has for itself are not compared", "[nodes]") {
  RunPlan plan;
  plan.command = job::recognise({"torchrun", "--nnodes=2", "--node-rank", "1",
                                 "--local-addr=10.0.0.2", "no_such_script.py", "--lr", "1"},
                                {});
  CHECK(facts_of(plan).at("the command") == "torchrun --nnodes=2 no_such_script.py --lr 1");
}

TEST_CASE("what a node has said reaches the leader's diagnosis under its name", "[nodes]") {
  diagnose::Evidence theirs;
  theirs.output = {{"rank-3.err", Rank{3}, "NCCL WARN no socket\n"}};
  theirs.remarks = {"ranks 2 and 3 wait in the store"};
  diagnose::Evidence evidence;
  REQUIRE(add_evidence(to_text(theirs), {1, "gpu-17"}, evidence).has_value());
  REQUIRE(evidence.output.size() == 1);
  CHECK(evidence.output.front().source == "gpu-17/rank-3.err");
  CHECK(evidence.output.front().rank == Rank{3});
  CHECK(evidence.output.front().text == "NCCL WARN no socket\n");
  CHECK(evidence.remarks == std::vector<std::string>{"gpu-17: ranks 2 and 3 wait in the store"});
  CHECK_FALSE(add_evidence("[", {1, "gpu-17"}, evidence).has_value());
}

TEST_CASE("a node that says very much tells the ends of it", "[nodes]") {
  diagnose::Evidence theirs;
  theirs.output = {{"launcher.err", std::nullopt, std::string(1'000'000, 'x') + "the end"}};
  const std::string text = to_text(theirs);
  CHECK(text.size() < 64 * 1024);
  diagnose::Evidence evidence;
  REQUIRE(add_evidence(text, {1, "a"}, evidence).has_value());
  CHECK(evidence.output.front().text.ends_with("the end"));
}

TEST_CASE("ranks that failed on another node after this one's were through are known", "[nodes]") {
  ranks::RanksSeen seen;
  seen.exits = {{Rank{2}, {100, 1, 1}, Exited{4}}};
  ranks::RankPicture failed{.rank = Rank{3}, .process = {200, 1, 0}};
  failed.ended = true;
  failed.status = Exited{9};
  failed.raised = RankRaised{Rank{3}, {200, 1, 0}, "OSError", "cannot read /data", ""};
  ranks::RankPicture known = failed, well = failed, alive = failed;
  known.rank = Rank{2};
  well.rank = Rank{4};
  well.status = Exited{0};
  alive.rank = Rank{5};
  alive.ended = false;
  add_failed(1, {known, failed, well, alive}, seen);
  REQUIRE(seen.exits.size() == 2);
  CHECK(seen.exits.back().rank == Rank{3});
  CHECK(seen.exits.back().process == ProcessId{200, 1, 1});
  REQUIRE(seen.raised.size() == 1);
  CHECK(seen.raised.front().process.node == 1);
}

TEST_CASE("the leader's diagnosis learns the hosts of ranks that failed on other nodes",
          "[nodes]") {
  diagnose::Evidence evidence;
  evidence.failure.ended = {{Rank{0}, {100, 1, 0}, Exited{1}}, {Rank{2}, {100, 1, 1}, Exited{1}}};
  evidence.failure.raised = {{Rank{4}, {200, 1, 2}, "ValueError", "", ""}};
  evidence.ended_in_stop = {{Rank{6}, {300, 1, 3}, Exited{1}}};
  add_hosts({{1, "gpu-1"}, {2, "gpu-2"}}, evidence);
  CHECK(evidence.hosts == std::map<Rank, std::string>{{Rank{2}, "gpu-1"}, {Rank{4}, "gpu-2"}});
}

TEST_CASE("long values that begin alike are shown where they part", "[nodes]") {
  const std::string begin = "torchrun --nnodes=2 --nproc-per-node=8 train.py --config llama.yaml ";
  const auto lines = differences({{"gpu-01", {{"the command", begin + "--seed 1"}}},
                                  {"gpu-02", {{"the command", begin + "--seed 2"}}}});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() ==
        "the nodes differ in the command: …g llama.yaml --seed 1 on gpu-01, …g llama.yaml --seed 2 "
        "on gpu-02");
}

TEST_CASE("a value that only goes on where another ends is told apart from it", "[nodes]") {
  const std::string begin(100, 'x');
  CHECK(differences({{"a", {{"torch", begin}}}, {"b", {{"torch", begin + " more"}}}}).front() ==
        "the nodes differ in torch: …" + std::string(20, 'x') + " on a, …" + std::string(20, 'x') +
            " more on b");
}

TEST_CASE("a long value that parts early is shown from its beginning, and cut", "[nodes]") {
  CHECK(differences({{"a", {{"torch", "1" + std::string(100, 'x')}}}, {"b", {{"torch", "2"}}}})
            .front() == "the nodes differ in torch: 1" + std::string(59, 'x') + " on a, 2 on b");
}

TEST_CASE("each fact that differs has its own line", "[nodes]") {
  const auto lines = differences(
      {{"a", {{"NCCL", "2.27"}, {"torch", "1"}}}, {"b", {{"NCCL", "2.28"}, {"torch", "2"}}}});
  CHECK(lines == std::vector<std::string>{"the nodes differ in NCCL: 2.27 on a, 2.28 on b",
                                          "the nodes differ in torch: 1 on a, 2 on b"});
}

TEST_CASE("a node that has told no facts at all differs in nothing", "[nodes]") {
  CHECK(differences({{"a", {{"NCCL_IB_HCA", "mlx5_0"}}}, {"b", {}}}).empty());
  CHECK(differences({}).empty());
}

TEST_CASE("facts of another node are bounded, whatever it claims", "[nodes]") {
  std::string many = "{";
  for (int i = 0; i < 1'000; ++i) many += (i > 0 ? ",\"f" : "\"f") + std::to_string(i) + "\":\"v\"";
  CHECK(facts_from(many + "}").size() == 200);
  const std::string endless(10'000, 'x');
  const NodeFacts cut = facts_from("{\"" + endless + "\":\"" + endless + "\"}");
  REQUIRE(cut.size() == 1);
  CHECK(cut.begin()->first == std::string(60, 'x'));
  CHECK(cut.begin()->second == std::string(4'096, 'x'));
  for (const char* hostile : {"", "{", "null", "\"torch\"", "{\"a\":{\"b\":\"c\"}}"})
    CHECK(facts_from(hostile).empty());
}

TEST_CASE("a fact that is no UTF-8 travels with its broken bytes replaced", "[nodes]") {
  CHECK(facts_from(to_text(NodeFacts{{"torch", "2\xff"}})) ==
        NodeFacts{{"torch", "2\xEF\xBF\xBD"}});
}

TEST_CASE("the words that a node has for itself are left out in each of their spellings",
          "[nodes]") {
  for (const char* option :
       {"--node-rank", "--node_rank", "--machine-rank", "--machine_rank", "--rdzv-conf",
        "--rdzv_conf", "--local-addr", "--local_addr", "--log-dir", "--log_dir"}) {
    const std::string name(option);
    CHECK(facts_of_command({"torchrun", "--nnodes=2", name, "1", "t.py"}).at("the command") ==
          "torchrun --nnodes=2 t.py");
    CHECK(facts_of_command({"torchrun", "--nnodes=2", name + "=1", "t.py"}).at("the command") ==
          "torchrun --nnodes=2 t.py");
  }
  // The last word, whose value is missing.
  CHECK(facts_of_command({"torchrun", "t.py", "--log-dir"}).at("the command") == "torchrun t.py");
}

TEST_CASE("variables of NCCL, gloo and torch are compared, but for those that name the node",
          "[nodes]") {
  const NodeFacts facts = facts_of_command({"true"}, {{"NCCL_IB_HCA", "mlx5_0"},
                                                      {"GLOO_SOCKET_IFNAME", "eth0"},
                                                      {"GLOO_DEVICE_TRANSPORT", "TCP_TLS"},
                                                      {"TORCH_NCCL_BLOCKING_WAIT", "1"},
                                                      {"NCCL_HOSTID", "a"},
                                                      {"NCCL_DEBUG_FILE", "/tmp/%h"},
                                                      {"NCCL_RAS_ADDR", "1.2.3.4:5"},
                                                      {"NCCL_SOCKET_MAGIC", "7"},
                                                      {"HOME", "/home/a"},
                                                      {"TORCH_HOME", "/torch"}});
  std::vector<std::string> compared;
  for (const auto& [name, value] : facts)
    if (name == "HOME" || name.find('_') != name.npos) compared.push_back(name + "=" + value);
  CHECK(compared == std::vector<std::string>{"GLOO_DEVICE_TRANSPORT=TCP_TLS", "NCCL_IB_HCA=mlx5_0",
                                             "TORCH_NCCL_BLOCKING_WAIT=1"});
  CHECK(facts.at("the profiles") == "basic,no-shm");
}

TEST_CASE("two versions of a script are told apart by its content", "[nodes]") {
  const safelaunch::testing::TemporaryFolder folder;
  const auto digest_of = [&](const std::string& text) {
    const std::string script = folder.write("train.py", text);
    return facts_of_command({"python", script}).at("the script's content");
  };
  const std::string one = digest_of("print(1)\n");
  CHECK(one.size() == 16);
  CHECK(digest_of("print(1)\n") == one);
  CHECK(digest_of("print(2)\n") != one);
  CHECK(digest_of("") == "cbf29ce484222325");  // FNV-1a of nothing
}

TEST_CASE("a script that is no file, or that is not there, has no content to compare", "[nodes]") {
  for (const std::vector<std::string>& command : {std::vector<std::string>{"python", "-m", "train"},
                                                  {"python", "-c", "print(1)"},
                                                  {"python", "no_such_script.py"},
                                                  {"true"}})
    CHECK_FALSE(facts_of_command(command).contains("the script's content"));
}
