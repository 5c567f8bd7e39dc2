#include <algorithm>
#include <array>

#include "checks.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/network.h"
#include "safelaunch/nccl/version.h"

// The script's words are held against the way in which the command starts it. Words prove little: a
// script may read its options or find its rank in a module of its own. So these are risks, and a
// run does not look for them.
namespace safelaunch::doctor {
namespace {

using std::string_view_literals::operator""sv;

bool has_any(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return text.find(word) != text.npos; });
}

/// torch.distributed.launch adds the option itself, unless it is told to use the environment.
bool is_given_local_rank(const job::Command& command) {
  const auto own = [&] {
    const std::size_t end = command.script ? command.script->word : command.argv.size();
    return std::span(command.argv).subspan(command.launcher_word, end - command.launcher_word);
  }();
  return own.front() == "torch.distributed.launch" &&
         std::ranges::none_of(own, [](const std::string& word) {
           return word == "--use_env" || word == "--use-env";
         });
}

void check_local_rank(const HostFacts& facts, Advices& advices) {
  const auto torch = nccl::parse_nccl_version(facts.libraries->torch_version);
  if (!torch || *torch < nccl::Version{2, 0, 0}) return;
  if (!facts.subject.command->script || !is_given_local_rank(*facts.subject.command)) return;
  constexpr std::array kTakesOne{"\"--local_rank\""sv, "'--local_rank'"sv};
  constexpr std::array kTakesAny{"\"--local-rank\""sv, "'--local-rank'"sv, "parse_known_args"sv};
  if (!has_any(facts.script, kTakesOne) || has_any(facts.script, kTakesAny)) return;
  advise(advices, Severity::risk, cause::kLocalRankArgument,
         fmt::format("torch.distributed.launch adds --local-rank, with a hyphen in torch {}; the "
                     "script names only --local_rank",
                     facts.libraries->torch_version),
         "start it with torchrun and read LOCAL_RANK, or let the parser know both spellings");
}

/// Where one of these is missing DeepSpeed asks MPI for all of them.
bool has_world(const Environment& environment) {
  constexpr std::array kNeeded{"RANK"sv, "WORLD_SIZE"sv, "MASTER_ADDR"sv, "MASTER_PORT"sv,
                               "LOCAL_RANK"sv};
  return std::ranges::all_of(kNeeded,
                             [&](std::string_view name) { return environment.contains(name); });
}

void check_deepspeed(const HostFacts& facts, Advices& advices) {
  const Subject& subject = facts.subject;
  if (subject.command->launcher != job::Launcher::python || subject.spawn) return;
  if (has_world(subject.environment) || facts.has_mpi4py) return;
  constexpr std::array kJoins{"deepspeed.init_distributed("sv, "deepspeed.initialize("sv};
  // A script that names the variable may set it.
  constexpr std::array kFindsItsRank{"\"RANK\""sv, "'RANK'"sv, "auto_mpi_discovery"sv, ".spawn("sv};
  if (!imports_module(facts.script, "deepspeed") || !has_any(facts.script, kJoins) ||
      has_any(facts.script, kFindsItsRank))
    return;
  advise(
      advices, Severity::risk, cause::kDeepspeedWithoutLauncher,
      "the script uses DeepSpeed, and no launcher sets RANK and WORLD_SIZE: DeepSpeed then looks "
      "for MPI, and there is no mpi4py",
      "start it with deepspeed, torchrun or safelaunch --nproc-per-node N");
}

/// Node 0 names the address at which the others are to find it.
void check_other_nodes(const HostFacts& facts, Advices& advices) {
  const World& world = facts.world;
  if (world.nodes < 2 || world.node_rank != 0) return;
  const std::string& master = world.master_address;
  if (master != "localhost" && !host::is_loopback_address(master)) return;
  advise(
      advices, Severity::risk, cause::kNodesMissing,
      fmt::format("the command starts node 0 of {}, and the others are to find it at {}, which is "
                  "each host itself: it waits for nodes that cannot come",
                  world.nodes, master),
      "for this host alone say one node (--nnodes 1, num_machines: 1 in accelerate's "
      "configuration); else name an address of this host, and start the command on all nodes");
}

}  // namespace

void check_script(const HostFacts& facts, Advices& advices) {
  if (!facts.subject.command || !facts.libraries) return;
  check_local_rank(facts, advices);
  check_deepspeed(facts, advices);
  check_other_nodes(facts, advices);
}

}  // namespace safelaunch::doctor
