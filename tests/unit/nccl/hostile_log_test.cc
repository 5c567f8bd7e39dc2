// A log is another program's: no byte of it may do harm, and no line may cost more than a line.
#include <random>

#include "catch.h"
#include "transcripts.h"

using namespace safelaunch;

using namespace safelaunch::nccl;
using safelaunch::testing::nccl_scenes;
using safelaunch::testing::ReadLog;

namespace {

std::string transcripts() {
  std::string all;
  for (const char* version : {"2.18.5", "2.28.9", "2.30.7"})
    for (const auto& [scene, text] : nccl_scenes(version)) all += text + "\n";
  return all;
}

bool is_sound(const Job& job) {
  for (const auto& [name, process] : job.processes()) {
    if (name.pid <= 0 || name.host.empty()) return false;
    for (const Comm& comm : process.comms)
      if (comm.part.rank < 0 || comm.part.rank >= comm.part.ranks ||
          comm.part.ranks > kMostNcclRanks)
        return false;
  }
  const auto standing = job.unfinished();
  return !standing || standing->missing().size() + standing->came.size() >=
                          static_cast<std::size_t>(standing->ranks);
}

std::string start(int pid, const std::string& numbers, int id) {
  return "n:" + std::to_string(pid) + ":1 [0] NCCL INFO ncclCommInitRank comm 0x" +
         std::to_string(id) + " " + numbers + " cudaDev 0 nvmlDev 0 busId 1 commId 0x" +
         std::to_string(id) + " - Init START";
}

}  // namespace

TEST_CASE("bytes changed at random do no harm", "[nccl][fuzz]") {
  const std::string original = transcripts();
  std::mt19937 random(20261121);
  for (int round = 0; round < 30; ++round) {
    std::string text = original;
    for (int change = 0; change < 4000; ++change)
      text[random() % text.size()] = static_cast<char>(random());
    CHECK(is_sound(ReadLog(text).job));
  }
}

TEST_CASE("lines cut and joined at random do no harm", "[nccl][fuzz]") {
  const std::string original = transcripts();
  std::mt19937 random(7);
  for (int round = 0; round < 30; ++round) {
    std::string text = original;
    for (int change = 0; change < 400; ++change) text.erase(random() % text.size(), random() % 40);
    for (int change = 0; change < 400; ++change) {
      const std::string piece = original.substr(random() % original.size(), random() % 60);
      text.insert(random() % text.size(), piece);
    }
    CHECK(is_sound(ReadLog(text).job));
  }
}

TEST_CASE("a line of megabytes is a line", "[nccl][fuzz]") {
  const std::string head = "n:1:1 [0] NCCL INFO ";
  for (const std::string& filling : {std::string(4 << 20, ' '), std::string(4 << 20, '['),
                                     std::string(4 << 20, '\0'), std::string(4 << 20, ':')}) {
    CHECK(is_sound(ReadLog(filling + head + "Using network Socket").job));
    CHECK(is_sound(ReadLog(head + filling).job));
    CHECK(is_sound(ReadLog(head + "comm " + filling + " - Init START").job));
  }
  std::string repeated = head;
  while (repeated.size() < (4 << 20)) repeated += "comm rank nranks ";
  CHECK(is_sound(ReadLog(repeated + "- Init START").job));
}

TEST_CASE("a flood of processes is kept within bounds", "[nccl][fuzz]") {
  Job job;
  for (int pid = 1; pid <= 70'000; ++pid)
    (void)job.read("n:" + std::to_string(pid) + ":1 [0] NCCL INFO Using network Socket");
  CHECK(job.processes().size() == 65'536);
}

TEST_CASE("a flood of communicators is kept within bounds", "[nccl][fuzz]") {
  Job job;
  (void)job.read("n:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0");
  for (int id = 1; id <= 10'000; ++id) (void)job.read(start(1, "rank 0 nranks 2", id));
  CHECK(job.processes().begin()->second.comms.size() == 4096);
}

TEST_CASE("a log that claims a million ranks names those that are missing", "[nccl][fuzz]") {
  Job job;
  (void)job.read("n:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0");
  (void)job.read(start(1, "rank 7 nranks 1048576", 1));
  REQUIRE(job.unfinished());
  CHECK(job.unfinished()->missing().size() == 1'048'575);
}
