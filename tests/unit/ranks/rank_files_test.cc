#include "safelaunch/ranks/attempt_place.h"

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("each rank's output has a name of its own, also what comes later", "[rank_files]") {
  const testing::TemporaryFolder place;
  const fs::path folder(place / "");
  const fs::path logs = folder / "launcher";
  write(logs / "none_x1/attempt_0/0/stdout.log", "zero\n");
  write(logs / "none_x1/attempt_0/11/stderr.log", "eleven\n");
  write(logs / "none_x1/attempt_0/11/stdout.log", "");
  link_rank_files(logs, folder);
  CHECK(read(folder / "rank-0.out") == "zero\n");
  CHECK(read(folder / "rank-11.err") == "eleven\n");
  CHECK_FALSE(fs::exists(folder / "rank-11.out"));
  std::ofstream(logs / "none_x1/attempt_0/0/stdout.log", std::ios::app) << "more\n";
  CHECK(read(folder / "rank-0.out") == "zero\nmore\n");
}

TEST_CASE("of torchrun's restarts the last has the names", "[rank_files]") {
  const testing::TemporaryFolder place;
  const fs::path folder(place / "");
  const fs::path logs = folder / "launcher";
  for (const char* restart : {"2", "10", "9"})
    write(logs / "none_x1" / (std::string("attempt_") + restart) / "0/stdout.log", restart);
  link_rank_files(logs, folder);
  CHECK(read(folder / "rank-0.out") == "10");
}

TEST_CASE("a name that is taken stays, and what is no folder of a rank is passed over",
          "[rank_files]") {
  const testing::TemporaryFolder place;
  const fs::path folder(place / "");
  const fs::path logs = folder / "launcher";
  write(folder / "rank-0.out", "mine");
  write(logs / "none_x1/attempt_0/0/stdout.log", "theirs");
  write(logs / "none_x1/attempt_0/error/stdout.log", "no rank");
  write(logs / "none_x1/other/3/stdout.log", "no restart");
  link_rank_files(logs, folder);
  link_rank_files(folder / "nowhere", folder);
  CHECK(read(folder / "rank-0.out") == "mine");
  CHECK_FALSE(fs::exists(folder / "rank-3.out"));
}
