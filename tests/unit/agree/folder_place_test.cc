#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "catch.h"
#include "launcher/agree/folder_member.h"
#include "temporary_folder.h"

namespace safelaunch::agree {
namespace {

using safelaunch::testing::TemporaryFolder;
namespace fs = std::filesystem;

/// The first words with which an agent that comes to a folder is refused; empty where it is not.
std::string refusal_at(const std::string& folder) {
  FolderMember member(folder, Terms{Duration{100}, Duration{0}, Duration{20}}, "a token");
  Wishes wishes{};
  wishes.claim = Claim{"aaaaaaaa", 0, 2, "job-7", "host"};
  wishes.claims = 1;
  const Outcome outcome = member.round(wishes);
  for (const BoardEvent& event : outcome.events)
    if (const auto* refused = std::get_if<Refused>(&event)) return refused->error.message;
  return {};
}

/// The folder in which the agents of this test meet, once somebody has met in it.
std::string board_in(const std::string& folder) {
  REQUIRE(refusal_at(folder).empty());
  for (const auto& entry : fs::directory_iterator(folder)) return entry.path().string();
  return {};
}

TEST_CASE("a link, a FIFO or a file in the place of the board is refused at once", "[folder]") {
  const TemporaryFolder folder;
  const std::string shared = folder / "shared";
  const std::string path = board_in(shared);
  const std::string of_ours = " of uid " + std::to_string(::geteuid()) +
                              ", and no folder; remove it, or name another folder";
  fs::remove_all(path);
  fs::create_symlink("/nowhere", path);
  CHECK(refusal_at(shared) == path + " is a link" + of_ours);
  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(refusal_at(shared) == path + " is a FIFO" + of_ours);
  fs::remove(path);
  folder.write("shared/" + fs::path(path).filename().string(), "text");
  CHECK(refusal_at(shared) == path + " is a file" + of_ours);
}

TEST_CASE("a file or a FIFO that is named as the folder is refused at once", "[folder][bug]") {
  const TemporaryFolder folder;
  const std::string why = ": this is no folder; name a folder of your own that all nodes share";
  folder.write("plain", "text");
  CHECK(refusal_at(folder / "plain") == "--rendezvous file://" + (folder / "plain") + why);
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(refusal_at(folder / "fifo") == "--rendezvous file://" + (folder / "fifo") + why);
}

TEST_CASE("where a folder is refused no board of ours is left in it", "[folder]") {
  const TemporaryFolder folder;
  const std::string open = folder / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  const std::string why =
      "everybody can write to " + open + " (mode 0777); name a folder that only you can write to";
  CHECK(refusal_at(open) == open + ": " + why);
  CHECK(fs::is_empty(open));
  CHECK(refusal_at(open + "/run") == open + "/run: " + why);
  CHECK(fs::is_empty(open));
}

TEST_CASE("agents of one user meet in a folder with the sticky bit", "[folder]") {
  const TemporaryFolder folder;
  const std::string sticky = folder / "tmp";
  fs::create_directory(sticky);
  REQUIRE(::chmod(sticky.c_str(), 01777) == 0);
  CHECK_FALSE(board_in(sticky).empty());
}

TEST_CASE("another user's file in the place of the board is refused with his number", "[folder]") {
  if (::geteuid() != 0) return;  // only root can give a folder away
  const TemporaryFolder folder;
  const std::string sticky = folder / "tmp";
  fs::create_directory(sticky);
  REQUIRE(::chmod(sticky.c_str(), 01777) == 0);
  const std::string path = board_in(sticky);
  fs::remove_all(path);
  fs::create_directory(path);
  REQUIRE(::chown(path.c_str(), 1001, 1001) == 0);
  CHECK(refusal_at(sticky) ==
        path + ": " + path + " belongs to uid 1001; name a folder that only you can write to");
}

}  // namespace
}  // namespace safelaunch::agree
