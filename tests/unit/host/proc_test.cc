#include "safelaunch/host/proc.h"

#include <unistd.h>

#include <algorithm>

#include "catch.h"
#include "child.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::host;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;
using safelaunch::testing::TemporaryFolder;

namespace {

// Linux 3.10 (CentOS 7): 46 fields; nobody may see the addresses.
constexpr const char* kOldStat =
    "1932 (python) S 1900 1932 1900 34816 1932 4202496 5120 77 3 0 210 45 12 9 20 0 17 0 88001 "
    "1234567890 4096 18446744073709551615 1 1 0 0 0 0 0 16781312 2 18446744073709551615 0 0 17 3 0 "
    "0 12 0 0 0 0 0 0";
// Linux 6.18: 52 fields, the last one the status of a zombie.
constexpr const char* kZombieStat =
    "71 (python3.11) Z 1 71 71 0 -1 4228108 0 0 0 0 7 3 0 0 20 0 1 0 990 0 0 "
    "18446744073709551615 0 0 0 0 0 0 0 0 2 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 256";

std::vector<int> proc_pids_in(const std::vector<std::string>& pieces) {
  std::vector<int> pids;
  auto take = [&](int pid) { pids.push_back(pid); };
  PidReader<decltype(take)> reader(take);
  for (const std::string& piece : pieces) reader.read(piece);
  reader.finish();
  return pids;
}

}  // namespace

TEST_CASE("a stat line of an old kernel is read without the fields that it lacks", "[proc]") {
  const auto stat = parse_proc_stat(kOldStat);
  REQUIRE(stat);
  CHECK(stat->pid == 1932);
  CHECK(stat->comm == "python");
  CHECK(stat->state == 'S');
  CHECK(stat->parent == 1900);
  CHECK(stat->group == 1932);
  CHECK(stat->session == 1900);
  CHECK(stat->terminal == 34816);
  CHECK(stat->terminal_group == 1932);
  CHECK(stat->flags == 4202496);
  CHECK(stat->cpu_ticks == 210 + 45 + 12 + 9);
  CHECK(stat->threads == 17);
  CHECK(stat->start_ticks == 88001);
  CHECK(stat->wait_status == 0);
}

TEST_CASE("a zombie's stat line has its wait status, and no terminal is -1", "[proc]") {
  const auto stat = parse_proc_stat(kZombieStat);
  REQUIRE(stat);
  CHECK(stat->state == 'Z');
  CHECK(stat->terminal == 0);
  CHECK(stat->terminal_group == -1);
  CHECK(stat->wait_status == 256);
}

TEST_CASE("a name may hold all that ends a name", "[proc]") {
  const std::string behind = std::string(kOldStat).substr(std::string("1932 (python)").size());
  for (const char* comm : {"", ")", ") R 1 2 3", "((", "a b", "\n", "tmux: server", "(sd-pam)"}) {
    const std::string line = "1932 (" + std::string(comm) + ")" + behind;
    const auto stat = parse_proc_stat(line);
    REQUIRE(stat);
    CHECK(stat->comm == comm);
    CHECK(stat->start_ticks == 88001);
  }
}

TEST_CASE("a stat line that is cut before the start time is none, wherever it is cut", "[proc]") {
  const std::string whole(kOldStat);
  const std::size_t start = whole.find(" 88001");
  for (std::size_t size = 0; size <= start; ++size)
    CHECK_FALSE(parse_proc_stat(std::string_view(whole).substr(0, size)));
  CHECK(parse_proc_stat(whole.substr(0, start + 6)));
}

TEST_CASE("words in the place of numbers are read as nothing", "[proc]") {
  std::string line = "x (a) S";
  for (int field = 4; field <= 52; ++field) line += " y-";
  const auto stat = parse_proc_stat(line);
  REQUIRE(stat);
  CHECK(stat->pid == 0);
  CHECK(stat->parent == 0);
  CHECK(stat->cpu_ticks == 0);
  CHECK(stat->start_ticks == 0);
  CHECK_FALSE(parse_proc_stat(") 71 (a S"));
}

TEST_CASE("only a young process that has not executed yet is about to", "[proc]") {
  const auto a_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  ProcStat stat;
  stat.flags = 0x40;
  stat.start_ticks = 1000;
  CHECK(is_about_to_execute(stat, 1000, Duration{0}));
  CHECK(is_about_to_execute(stat, 1000 + a_second, Duration{1000}));
  CHECK_FALSE(is_about_to_execute(stat, 1001 + a_second, Duration{1000}));
  stat.flags = 0x400000;  // it has executed
  CHECK_FALSE(is_about_to_execute(stat, 1000, Duration{1000}));
}

TEST_CASE("pids are read from a list that the kernel gives in pieces", "[proc]") {
  CHECK(proc_pids_in({"71 72 1932 "}) == std::vector{71, 72, 1932});
  CHECK(proc_pids_in({"7", "1 7", "2"}) == std::vector{71, 72});
  CHECK(proc_pids_in({"", " ", "\n"}).empty());
  CHECK(proc_pids_in({"0 71"}) == std::vector{71});
}

TEST_CASE("a path below /proc is built without the heap, and never beyond its room", "[proc]") {
  CHECK(ProcPath(71, "stat").c_str() == std::string("/proc/71/stat"));
  CHECK(ProcPath(71, 72, "wchan").c_str() == std::string("/proc/71/task/72/wchan"));
  CHECK(std::string(ProcPath(71, std::string(500, 'x')).c_str()).size() == 63);
}

TEST_CASE("a small file is a page at most, without its last line end", "[proc]") {
  const TemporaryFolder folder;
  CHECK(SmallFile(folder.write("one", "a\nb\n").c_str()).text() == "a\nb");
  CHECK(SmallFile(folder.write("long", std::string(5000, 'x')).c_str()).text().size() == 4096);
  const SmallFile empty(folder.write("empty", "").c_str());
  CHECK((empty && empty.text().empty()));
  const SmallFile missing((folder / "none").c_str());
  CHECK((!missing && missing.text().empty()));
  CHECK_FALSE(SmallFile((folder / ".").c_str()));  // a folder opens, and cannot be read
}

TEST_CASE("a whole file is read, however long, and for its owner only where one is named",
          "[proc]") {
  const TemporaryFolder folder;
  const std::string text = std::string(40'000, 'x') + '\0' + "y";
  const std::string path = folder.write("long", text);
  CHECK(read_whole(path.c_str()) == text);
  CHECK(read_whole(path.c_str(), ::geteuid()) == text);
  CHECK_FALSE(read_whole(path.c_str(), ::geteuid() + 1));
  CHECK_FALSE(read_whole((folder / "none").c_str()));
  CHECK_FALSE(read_whole((folder / ".").c_str()));
}

TEST_CASE("of a folder only the entries that are numbers are taken", "[proc]") {
  const TemporaryFolder folder;
  for (const char* name : {"71", "self", "7x", "x7", "007", "99999999999"}) folder.write(name, "");
  auto numbers = numbers_in_folder((folder / ".").c_str());
  std::ranges::sort(numbers);
  CHECK(numbers == std::vector{7, 71});
  CHECK(numbers_in_folder((folder / "none").c_str()).empty());
}

TEST_CASE("a folder with more entries than a buffer holds is read to its end", "[proc]") {
  const TemporaryFolder folder;
  for (int i = 0; i < 500; ++i) folder.write(std::to_string(i), "");
  CHECK(numbers_in_folder((folder / ".").c_str()).size() == 500);
}

TEST_CASE("a process was started with a setting only where the whole of it is there", "[proc]") {
  Child child([] {
    char* const words[]{const_cast<char*>("sleep"), const_cast<char*>("1000"), nullptr};
    char* const variables[]{const_cast<char*>("KEEP=10"), const_cast<char*>("XKEEP=2"),
                            const_cast<char*>("LONG=1"), nullptr};
    ::execve("/bin/sleep", words, variables);
  });
  ExecMoment moment;
  REQUIRE(eventually([&] { return was_started_with(child.pid(), "LONG=1", moment); }));
  for (const char* setting : {"KEEP=10", "XKEEP=2"})
    CHECK(was_started_with(child.pid(), setting, moment));
  for (const char* setting : {"KEEP=1", "EEP=10", "KEEP=2", "LONG", "LONG=", "LONG=11", "KEEP=100"})
    CHECK_FALSE(was_started_with(child.pid(), setting, moment));
}

TEST_CASE("a process in state D is looked at again, as long as the moment lasts", "[proc]") {
  const int self = ::getpid();
  const Child child([self] {
    if (::vfork() == 0) {  // its parent is in state D until it ends
      while (state_of(self) != 'S') continue;
      ::_exit(0);
    }
    ::pause();
  });
  while (state_of(child.pid()) != 'D') continue;
  // environ[0] may be HOME, which the tests have changed since.
  const std::string given = read_whole("/proc/self/environ").value_or("");
  const char* first = given.c_str();
  ExecMoment none{Duration(0), Duration(0)};
  CHECK_FALSE(was_started_with(child.pid(), first, none));
  ExecMoment moment{Duration(20'000), Duration(0)};  // a limit only
  CHECK(was_started_with(child.pid(), first, moment));
}

TEST_CASE("a process that is gone has no state and was started with nothing", "[proc]") {
  Child child([] { ::pause(); });
  const int pid = child.pid();
  child.end();
  ExecMoment moment;
  CHECK(state_of(pid) == '?');
  CHECK_FALSE(stat_of(pid));
  CHECK_FALSE(was_started_with(pid, "A=1", moment));
}

TEST_CASE("/proc shows our own namespace here", "[proc]") {
  CHECK(proc_is_ours());
  CHECK(proc_can_be_believed());
  CHECK(stat_of(static_cast<int>(::getpid()))->comm.empty());  // it would point nowhere
}
