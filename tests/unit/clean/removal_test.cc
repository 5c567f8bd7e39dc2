#include "safelaunch/clean/removal.h"

#include <filesystem>

#include "catch.h"
#include "unit/host/child.h"
#include "unit/host/left_folder.h"

using namespace safelaunch;

using namespace safelaunch::clean;
using namespace safelaunch::testing;
using Lines = std::vector<std::string>;

namespace {

clean::StaleProcess process(ProcessId id, clean::Claim claim) {
  clean::StaleProcess stale;
  stale.process.id = id;
  stale.claim = claim;
  return stale;
}

clean::StaleFile file(const LeftFolder& folder, std::size_t number, clean::Claim claim) {
  return {host::read_shared_memory(folder.path()).files.at(number), claim, "nobody has it open"};
}

Lines done_of(const std::vector<clean::Removal>& removals) {
  Lines lines;
  for (const clean::Removal& removal : removals) lines.push_back(removal.done);
  return lines;
}

}  // namespace

TEST_CASE("what is planned is what is done, to what is claimed and to nothing else", "[removal]") {
  const Child stale([] { ::pause(); });
  const Child decoy([] { ::pause(); });
  LeftFolder folder;
  const std::string left = folder.add("nccl-left01", "x");
  const std::string kept = folder.add("nccl-other1", "x");
  const clean::Leftovers all{
      {process(stale.id(), clean::Claim::ours), process(decoy.id(), clean::Claim::unproven)},
      {file(folder, 0, clean::Claim::ours), file(folder, 1, clean::Claim::unproven)}};

  CHECK(done_of(clean::plan_removal(all, settings::CleanPolicy::ours)) ==
        Lines{"would be ended", "left alone", "would be removed", "left alone"});
  CHECK(host::is_running(stale.id()));
  CHECK(std::filesystem::exists(left));

  const auto removed = done_of(clean::remove(all, settings::CleanPolicy::ours));
  CHECK(removed[0] == "ended");
  CHECK(removed[1] == "left alone");
  CHECK(removed[3] == "left alone");
  CHECK_FALSE(host::is_running(stale.id()));
  CHECK(host::is_running(decoy.id()));
  CHECK(std::filesystem::exists(kept));
  CHECK(std::filesystem::exists(left) == (removed[2] != "removed"));
}

TEST_CASE("policy off touches nothing", "[removal]") {
  LeftFolder folder;
  const std::string left = folder.add("nccl-left01", "x");
  const clean::Leftovers all{{}, {file(folder, 0, clean::Claim::ours)}};
  CHECK(done_of(clean::plan_removal(all, settings::CleanPolicy::off)) == Lines{"left alone"});
  CHECK(done_of(clean::remove(all, settings::CleanPolicy::off)) == Lines{"left alone"});
  CHECK(std::filesystem::exists(left));
}

TEST_CASE("of a rank that lost its launcher and is left alone it is told what would end it",
          "[removal]") {
  const auto line_of = [](clean::Claim claim, settings::CleanPolicy policy) {
    return describe(clean::plan_removal({{process({4242, 1}, claim)}, {}}, policy).front());
  };
  const std::string way = "; `safelaunch clean --policy orphans` ends it";
  CHECK(line_of(clean::Claim::orphan, settings::CleanPolicy::ours).ends_with(way));
  CHECK(line_of(clean::Claim::orphan, settings::CleanPolicy::orphans).find(way) ==
        std::string::npos);
  CHECK(line_of(clean::Claim::unproven, settings::CleanPolicy::ours).find(way) ==
        std::string::npos);
}

TEST_CASE("a line tells what was done with what, and why", "[removal]") {
  clean::StaleFile stale;
  stale.file.path = "/dev/shm/nccl-vR6Fzi";
  stale.file.bytes = 64 << 10;
  stale.why = "written 3h ago, and nobody has it open";
  CHECK(describe(clean::Removal{stale, "would be removed"}) ==
        "would be removed: /dev/shm/nccl-vR6Fzi (64 KiB): written 3h ago, and nobody has it open");
}
