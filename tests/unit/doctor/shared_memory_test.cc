#include "catch.h"
#include "healthy_host.h"

using namespace safelaunch;

using namespace safelaunch::doctor;
using namespace safelaunch::testing;
using Lines = std::vector<std::string>;

namespace {

constexpr std::uint64_t kMebi = std::uint64_t{1} << 20;

doctor::HostFacts with_shared_memory(std::uint64_t bytes, std::uint64_t available) {
  doctor::HostFacts facts = healthy_host();
  facts.shared_memory = {"/dev/shm", bytes, available, {}};
  return facts;
}

}  // namespace

TEST_CASE("Docker's 64 MiB are a risk where GPUs are", "[doctor][shm]") {
  doctor::HostFacts facts = with_shared_memory(64 * kMebi, 64 * kMebi);
  facts.platform.container = host::ContainerKind::docker;
  const Finding finding = first_finding(facts);
  CHECK(finding.cause == "shm-small");
  CHECK(finding.severity == Severity::risk);
  CHECK(finding.evidence ==
        "/dev/shm has 64 MiB free of 64 MiB (Docker's default); NCCL's proxies take 65 MiB");
  CHECK(finding.remedy == "start the container with --shm-size=8g or --ipc=host");
}

TEST_CASE("the same is a note where no GPU is", "[doctor][shm]") {
  doctor::HostFacts facts = with_shared_memory(64 * kMebi, 64 * kMebi);
  facts.gpus = 0;
  CHECK(outline(facts) == Lines{"shm-small note"});
}

TEST_CASE("no room at all is a risk for everybody", "[doctor][shm]") {
  doctor::HostFacts facts = with_shared_memory(4096 * kMebi, 2 * kMebi);
  facts.gpus = 0;
  CHECK(outline(facts) == Lines{"shm-small risk"});
}

TEST_CASE("what NCCL needs grows with the processes of the command", "[doctor][shm]") {
  doctor::HostFacts facts = with_shared_memory(2048 * kMebi, 200 * kMebi);
  CHECK(outline(facts).empty());
  facts.subject.spawn.emplace();
  facts.subject.spawn->workers = 8;
  facts.subject.spawn->devices_selected = true;
  facts.subject.spawn->devices = {"0", "1", "2", "3", "4", "5", "6", "7"};
  CHECK(outline(facts) == Lines{"shm-small risk"});
}

TEST_CASE("left segments are a note while there is room, and ours can be removed",
          "[doctor][shm]") {
  doctor::HostFacts facts = healthy_host();
  facts.segments = {stale_file("/dev/shm/nccl-1", clean::Claim::unproven),
                    stale_file("/dev/shm/nccl-2", clean::Claim::ours)};
  const auto advices = doctor::examine(facts);
  REQUIRE(advices.size() == 1);
  CHECK(advices[0].finding.cause == "shm-leaked");
  CHECK(advices[0].finding.severity == Severity::note);
  CHECK(advices[0].finding.evidence.starts_with("128 MiB of /dev/shm in 2 files"));
  REQUIRE(advices[0].files.size() == 1);
  CHECK(advices[0].files[0].file.path == "/dev/shm/nccl-2");
}

TEST_CASE("the doctor's remedy for segments is what removes them", "[doctor][shm]") {
  const auto remedy = [](const std::vector<clean::Claim>& claims) {
    doctor::HostFacts facts = healthy_host();
    for (const clean::Claim claim : claims)
      facts.segments.push_back(stale_file("/dev/shm/nccl-1", claim));
    return first_finding(facts).remedy;
  };
  CHECK(remedy({clean::Claim::ours}) == "safelaunch doctor --fix");
  CHECK(remedy({clean::Claim::named}) ==
        "safelaunch clean --all-mine, unless a job of another container still needs them");
  CHECK(remedy({clean::Claim::named, clean::Claim::ours})
            .starts_with("safelaunch doctor --fix removes what"));
  CHECK(remedy({clean::Claim::unproven}) == "remove those that you know to be dead");
}

TEST_CASE("left segments are a risk where they leave little room", "[doctor][shm]") {
  doctor::HostFacts facts = with_shared_memory(4096 * kMebi, 900 * kMebi);
  facts.segments = {stale_file("/dev/shm/nccl-1", clean::Claim::unproven)};
  CHECK(outline(facts) == Lines{"shm-leaked risk"});
  CHECK_FALSE(doctor::examine(facts)[0].can_be_fixed());
}

TEST_CASE("each kind of container has the remedy of its maker", "[doctor][shm]") {
  using Kind = host::ContainerKind;
  const auto remedy = [](Kind kind) {
    doctor::HostFacts facts = with_shared_memory(64 * kMebi, 1 * kMebi);
    facts.platform.container = kind;
    return first_finding(facts).remedy;
  };
  const std::string docker = "start the container with --shm-size=8g or --ipc=host";
  const std::string host =
      "mount -o remount,size=8g /dev/shm, as root; until then --profile cumem-host";
  CHECK(remedy(Kind::docker) == docker);
  CHECK(remedy(Kind::podman) == docker);
  CHECK(remedy(Kind::kubernetes) ==
        "mount an emptyDir with medium: Memory at /dev/shm; until then --profile cumem-host");
  CHECK(remedy(Kind::none) == host);
}

TEST_CASE("room in shared memory is judged at its bounds", "[doctor][shm]") {
  const auto severity = [](std::uint64_t bytes, std::uint64_t free, int gpus) {
    doctor::HostFacts facts = with_shared_memory(bytes, free);
    facts.gpus = gpus;
    return outline(facts);
  };
  CHECK(severity(4096 * kMebi, 16 * kMebi, 0) == Lines{});
  CHECK(severity(4096 * kMebi, 16 * kMebi - 1, 0) == Lines{"shm-small risk"});
  CHECK(severity(4096 * kMebi, 2 * 34'210'176, 2) == Lines{});
  CHECK(severity(4096 * kMebi, 2 * 34'210'176 - 1, 2) == Lines{"shm-small risk"});
  CHECK(severity(1024 * kMebi, 1024 * kMebi, 2) == Lines{});
  CHECK(severity(1024 * kMebi - 1, 512 * kMebi, 2) == Lines{"shm-small risk"});
  CHECK(severity(0, 0, 2) == Lines{});  // it could not be looked at
}

TEST_CASE("one left segment is told as one file", "[doctor][shm]") {
  doctor::HostFacts facts = healthy_host();
  facts.segments = {stale_file("/dev/shm/nccl-1", clean::Claim::ours)};
  CHECK(first_finding(facts).evidence ==
        "64 MiB of /dev/shm in 1 file that no process seems to use, such as /dev/shm/nccl-1 (made "
        "3h ago, and nobody maps it)");
}
