#include "launcher/agree/notice.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "catch.h"
#include "launcher/agree/records.h"
#include "temporary_folder.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;
using safelaunch::testing::TemporaryFolder;
namespace fs = std::filesystem;

const std::string kJob = "job-7";
const std::string kOurToken = "the token of this test";

NoticeFolder notices_in(const std::string& folder, const std::string& token = kOurToken) {
  return {folder, kJob, token};
}

/// Puts a notice in place of the one that counts.
Notice put(const std::string& folder, const std::string& id) {
  const NoticeFolder notices = notices_in(folder);
  const auto ours = notices.put({id, {"10.0.0.1:40000", "fd00::1:40001"}}, *notices.newest());
  REQUIRE(ours.has_value());
  return ours->value();
}

/// Why an agent that comes to a folder is refused; empty where it is not.
std::string refusal_at(const std::string& folder, const std::string& token = kOurToken) {
  const auto found = notices_in(folder, token).newest();
  return found.has_error() && found.error().code != Errc::peer_lost ? found.error().message : "";
}

/// The path of the first notice of this test's job.
std::string first_path(const std::string& folder) {
  return folder + "/safelaunch-" + plain_job_name(kJob) + ".1";
}

TEST_CASE("a notice reads back, and is a file of its own that only we can read", "[notice]") {
  const TemporaryFolder folder;
  const std::string shared = folder / "shared";
  CHECK_FALSE(*notices_in(shared).newest());
  CHECK(put(shared, "a").number == 1);
  const auto found = *notices_in(shared).newest();
  REQUIRE(found);
  CHECK(found->id == "a");
  CHECK(found->endpoints == std::vector<std::string>{"10.0.0.1:40000", "fd00::1:40001"});
  struct stat facts {};
  REQUIRE(::stat(first_path(shared).c_str(), &facts) == 0);
  CHECK((facts.st_mode & 07777U) == 0600);
  CHECK_FALSE(*NoticeFolder(shared, "job-8", kOurToken).newest());
}

TEST_CASE("of two agents that put a notice in one place only one succeeds", "[notice]") {
  const TemporaryFolder folder;
  const NoticeFolder notices = notices_in(folder / "");
  const std::optional<Notice> none = *notices.newest();
  CHECK(notices.put({"a", {"10.0.0.1:1"}}, none)->has_value());
  CHECK_FALSE(notices.put({"b", {"10.0.0.2:1"}}, none)->has_value());
  const std::optional<Notice> a = *notices.newest();
  CHECK(a->id == "a");
  CHECK(notices.put({"c", {"10.0.0.3:1"}}, a)->has_value());
  CHECK_FALSE(notices.put({"d", {"10.0.0.4:1"}}, a)->has_value());
  CHECK((*notices.newest())->id == "c");
}

TEST_CASE("a notice is put beside no newer one, which a look had missed", "[notice]") {
  const TemporaryFolder folder;
  put(folder / "", "a");
  put(folder / "", "b");
  const NoticeFolder notices = notices_in(folder / "");
  CHECK_FALSE(notices.put({"c", {"10.0.0.3:1"}}, std::nullopt)->has_value());
  CHECK((*notices.newest())->id == "b");
  CHECK(std::distance(fs::directory_iterator(folder / ""), {}) == 1);
}

TEST_CASE("only the board's own notice and those before it are removed", "[notice]") {
  const TemporaryFolder folder;
  const NoticeFolder notices = notices_in(folder / "");
  const Notice a = put(folder / "", "a");
  CHECK(fs::exists(first_path(folder / "")));
  const Notice b = put(folder / "", "b");
  CHECK_FALSE(fs::exists(first_path(folder / "")));
  notices.remove(a);
  CHECK((*notices.newest())->id == "b");
  notices.remove({"another", {}, b.number});
  CHECK((*notices.newest())->id == "b");
  notices.remove(b);
  CHECK(fs::is_empty(folder / ""));
}

TEST_CASE("a notice that was altered, moved to another number or sealed with another token is none",
          "[notice]") {
  const TemporaryFolder folder;
  put(folder / "", "a");
  const std::string path = first_path(folder / "");
  const std::string why = "the agents that meet in " + (folder / "") +
                          " have another token; copy theirs, or remove " + path +
                          " if no such job runs";
  CHECK(refusal_at(folder / "").empty());
  CHECK(refusal_at(folder / "", "another token than theirs") == why);
  fs::copy_file(path, path.substr(0, path.size() - 1) + "2");
  CHECK_THAT(refusal_at(folder / ""), ContainsSubstring("have another token"));
  fs::remove(path.substr(0, path.size() - 1) + "2");
  fs::resize_file(path, 40);
  CHECK(refusal_at(folder / "") == why);
}

TEST_CASE("names that are none of a notice's are passed over", "[notice]") {
  const TemporaryFolder folder;
  const std::string name = "safelaunch-" + plain_job_name(kJob);
  for (const std::string& other :
       std::vector{name, name + ".", name + ".02", name + ".2x", name + ".-2", name + ".1.2",
                   name + ".99999999999999999999"})
    folder.write(other, "text");
  CHECK(refusal_at(folder / "").empty());
  CHECK(put(folder / "", "a").number == 1);
}

TEST_CASE("a link, a FIFO or a folder in the place of the notice is refused at once", "[notice]") {
  const TemporaryFolder folder;
  const std::string path = first_path(folder / "");
  const std::string of_ours =
      " of uid " + std::to_string(::geteuid()) + ", and no file; remove it, or name another folder";
  fs::create_symlink(folder / "elsewhere", path);
  CHECK(refusal_at(folder / "") == path + " is a link" + of_ours);
  fs::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(refusal_at(folder / "") == path + " is a FIFO" + of_ours);
  fs::remove(path);
  fs::create_directory(path);
  CHECK(refusal_at(folder / "") == path + " is a folder" + of_ours);
}

TEST_CASE("a file or a FIFO that is named as the folder is refused at once", "[notice][bug]") {
  const TemporaryFolder folder;
  const std::string why = ": this is no folder; name a folder of your own that all nodes share";
  folder.write("plain", "text");
  CHECK(refusal_at(folder / "plain") == "--rendezvous file://" + (folder / "plain") + why);
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(refusal_at(folder / "fifo") == "--rendezvous file://" + (folder / "fifo") + why);
}

TEST_CASE("a folder whose parent is missing is refused: it may be a share that is not mounted",
          "[notice]") {
  const TemporaryFolder folder;
  CHECK_THAT(refusal_at(folder / "share/run1"), ContainsSubstring("No such file or directory"));
  CHECK_FALSE(fs::exists(folder / "share"));
}

TEST_CASE("where a folder is refused nothing of ours is left in it", "[notice]") {
  const TemporaryFolder folder;
  const std::string open = folder / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  const std::string why =
      "everybody can write to " + open + " (mode 0777); name a folder that only you can write to";
  CHECK(refusal_at(open) == open + ": " + why);
  CHECK(refusal_at(open + "/run") == open + "/run: " + why);
  CHECK(fs::is_empty(open));
}

TEST_CASE("agents of one user meet in a folder with the sticky bit; another's notice is refused",
          "[notice]") {
  const TemporaryFolder folder;
  const std::string sticky = folder / "tmp";
  fs::create_directory(sticky);
  REQUIRE(::chmod(sticky.c_str(), 01777) == 0);
  put(sticky, "a");
  CHECK(refusal_at(sticky).empty());
  if (::geteuid() != 0) return;  // only root can give a file away
  const std::string path = first_path(sticky);
  REQUIRE(::chown(path.c_str(), 1001, 1001) == 0);
  CHECK(refusal_at(sticky) ==
        path + ": " + path + " belongs to uid 1001; name a folder that only you can write to");
}

}  // namespace
}  // namespace safelaunch::agree
