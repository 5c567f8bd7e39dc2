#include <set>

#include "catch.h"
#include "launcher/stacks/py_spy.h"
#include "temporary_folder.h"

using namespace safelaunch;
using namespace safelaunch::stacks;
using safelaunch::testing::TemporaryFolder;

namespace {

/// Pythons and a py-spy that do what a test says.
struct Pythons {
  std::set<int> alive{71, 72, 73};
  std::set<int> forbidden{};
  std::set<int> ends_meanwhile{};
  std::set<int> without_py_spy{};
  std::set<int> readable{};
  bool time_is_up = false;
  std::vector<int> asked{};

  PythonReader::Means means() {
    return {[this](ProcessId process) { return alive.contains(process.pid); },
            [this](int pid) { return without_py_spy.contains(pid) ? "" : "/opt/py-spy"; },
            [this](const std::string& program, int pid) { return dump(program, pid); },
            [this](int pid) {
              return readable.contains(pid) ? std::vector<std::string>{"/home/u/eval.py:3 main"}
                                            : std::vector<std::string>();
            },
            [this] { return time_is_up; }};
  }

 private:
  Dump dump(const std::string& program, int pid) {
    CHECK(program == "/opt/py-spy");
    asked.push_back(pid);
    if (ends_meanwhile.contains(pid)) {
      alive.erase(pid);
      return {{}, "No such process"};
    }
    if (forbidden.contains(pid)) return {{}, "it may not"};
    return {{{"MainThread", {"/home/u/train.py:9 <module>", "/home/u/train.py:4 main"}}}, {}};
  }
};

std::vector<RankPlace> python_places_of(std::vector<int> pids) {
  std::vector<RankPlace> places;
  for (const int pid : pids) places.emplace_back().process = {pid, 7};
  return places;
}

std::vector<RankPlace> three_places() {
  return python_places_of({71, 72, 73});
}

/// Reads all, and gives the note.
std::string note_after(Pythons& pythons, std::vector<RankPlace>& places) {
  PythonReader reader(pythons.means());
  for (RankPlace& place : places) reader.read(place);
  return reader.note();
}

std::vector<Teller> tellers_of(const std::vector<RankPlace>& places) {
  std::vector<Teller> tellers;
  for (const RankPlace& place : places) tellers.push_back(place.teller);
  return tellers;
}

}  // namespace

TEST_CASE("the place of a Python without a hook is told by py-spy", "[python_reader]") {
  Pythons pythons;
  auto places = three_places();
  CHECK(note_after(pythons, places).empty());
  CHECK(pythons.asked == std::vector{71, 72, 73});
  CHECK(places[0].where == "train.py:4 main");
  CHECK(places[0].frames.find("train.py:9 <module>") != std::string::npos);
  CHECK(places[0].teller == Teller::py_spy);
}

TEST_CASE("what a hook has told is not asked again", "[python_reader]") {
  Pythons pythons;
  auto places = three_places();
  places[1].teller = Teller::hook;
  places[1].where = "told";
  CHECK(note_after(pythons, places).empty());
  CHECK(pythons.asked == std::vector{71, 73});
  CHECK(places[1].where == "told");
}

TEST_CASE("a process that is no Python, or has ended, is not asked and needs no note",
          "[python_reader]") {
  Pythons pythons;
  pythons.alive = {72};
  auto places = three_places();
  CHECK(note_after(pythons, places).empty());
  CHECK(pythons.asked == std::vector{72});
}

TEST_CASE("where py-spy is nowhere the note tells how to have it", "[python_reader]") {
  Pythons pythons;
  pythons.without_py_spy = {71, 72, 73};
  auto places = three_places();
  CHECK(note_after(pythons, places) ==
        "the Python frames of 3 of the processes are not known: no hook of safelaunch answers "
        "there, safelaunch cannot read them from outside, and py-spy is not installed (pip install "
        "py-spy)");
  CHECK(pythons.asked.empty());
}

TEST_CASE("without py-spy the main thread is read from its memory", "[python_reader]") {
  Pythons pythons;
  pythons.without_py_spy = pythons.readable = {71, 72, 73};
  auto places = three_places();
  CHECK(note_after(pythons, places).empty());
  CHECK(places[2].where == "eval.py:3 main");
  CHECK(places[2].teller == Teller::safelaunch);
}

TEST_CASE("a Python with a py-spy of its own is read though another has none", "[python_reader]") {
  Pythons pythons;
  pythons.without_py_spy = {71};
  auto places = three_places();
  CHECK_FALSE(note_after(pythons, places).empty());
  CHECK(tellers_of(places) == std::vector{Teller::nobody, Teller::py_spy, Teller::py_spy});
}

TEST_CASE("after the first refusal no other Python is tried", "[python_reader]") {
  Pythons pythons;
  pythons.forbidden = {72};
  auto places = three_places();
  CHECK(note_after(pythons, places) == "py-spy cannot read pid 72: it may not");
  CHECK(pythons.asked == std::vector{71, 72});
  CHECK(tellers_of(places) == std::vector{Teller::py_spy, Teller::nobody, Teller::nobody});
}

TEST_CASE("a Python that ends while py-spy looks at it keeps no other from being read",
          "[python_reader]") {
  Pythons pythons;
  pythons.ends_meanwhile = {71};
  auto places = three_places();
  CHECK(note_after(pythons, places).empty());
  CHECK(tellers_of(places) == std::vector{Teller::nobody, Teller::py_spy, Teller::py_spy});
}

TEST_CASE("processes for which no time was left are counted", "[python_reader]") {
  Pythons pythons;
  pythons.time_is_up = true;
  auto places = three_places();
  CHECK(note_after(pythons, places) ==
        "py-spy was too slow here: the Python frames of 3 of the processes are not known");
  CHECK(pythons.asked.empty());
}

// ---- py-spy itself ------------------------------------------------------------------------------

TEST_CASE("why py-spy tells nothing is its last line, or else its end", "[py_spy]") {
  const auto why = [](std::string errors, ExitStatus status = Exited{1}) {
    return why_not({status, false, std::move(errors)}, "1");
  };
  CHECK(why("Warning: slow\nError: Failed to find python version\n\n") ==
        "Error: Failed to find python version");
  CHECK(why("") == "exit status 1");
  CHECK(why("", Signaled{9, false}) == "killed by SIGKILL");
}

TEST_CASE("a refusal of the kernel is told with the setting that makes it", "[py_spy]") {
  const auto why = [](std::string_view scope) {
    return why_not({Exited{1}, false, "Permission Denied: Try running again with elevated\n"},
                   scope);
  };
  CHECK(why("1") ==
        "the kernel does not let it look into another process (kernel.yama.ptrace_scope is 1); as "
        "root it may");
  CHECK(why("0") == "the kernel does not let it look into another process; as root it may");
  CHECK(why("") == "the kernel does not let it look into another process; as root it may");
}

namespace {

Dump dump_of_script(const std::string& body) {
  const TemporaryFolder folder;
  return dump(folder.write("py-spy", "#!/bin/sh\n" + body + "\n", 0700), 71,
              std::chrono::minutes(1));
}

}  // namespace

TEST_CASE("py-spy is asked for JSON of one process, which it must not stop", "[py_spy]") {
  const Dump seen =
      dump_of_script(R"(echo "[{\"thread_name\": \"$*\", \"os_thread_id\": 71, \"frames\": []}]")");
  REQUIRE(seen.threads.size() == 1);
  CHECK(seen.threads.front().name == "dump --nonblocking --json --pid 71");
  CHECK(seen.trouble.empty());
}

TEST_CASE("JSON over several lines is one dump", "[py_spy]") {
  CHECK(dump_of_script(R"(printf '[\n{\n"thread_name":\n"Main"}\n]\n')").threads.front().name ==
        "Main");
}

TEST_CASE("a py-spy that tells no thread has trouble, whatever its status", "[py_spy]") {
  struct Case {
    const char* body;
    const char* trouble;
  };
  for (const Case& one :
       {Case{"exit 0", "exit status 0"}, Case{"echo '[]'", "exit status 0"},
        Case{"echo '[{'; echo 'it broke' >&2; exit 3", "it broke"},
        Case{"echo '{\"threads\": []}'; exit 3", "exit status 3"},
        Case{"echo '[7]'", "exit status 0"}, Case{"kill -SEGV $$", "killed by SIGSEGV"}}) {
    INFO(one.body);
    const Dump seen = dump_of_script(one.body);
    CHECK(seen.threads.empty());
    CHECK(seen.trouble == one.trouble);
  }
}

TEST_CASE("a py-spy that cannot be started is trouble that names it", "[py_spy]") {
  const Dump seen = dump("/no/such/py-spy", 71, std::chrono::minutes(1));
  CHECK(seen.threads.empty());
  CHECK(seen.trouble.find("/no/such/py-spy") != std::string::npos);
}

// ---- where it is --------------------------------------------------------------------------------

namespace {

/// Folders that only we can write to, each with a py-spy where a test wants one.
class PySpyPlaces : public TemporaryFolder {
 public:
  std::string with_py_spy(const std::string& folder) const {
    const std::string program = write(folder + "/py-spy", "#!/bin/sh\n", 0700);
    std::filesystem::permissions(*this / folder, std::filesystem::perms(0700));
    return program;
  }
};

}  // namespace

TEST_CASE("py-spy is taken from our PATH, then the process's, then from beside its Python",
          "[py_spy]") {
  const PySpyPlaces made;
  const Environment own{{"PATH", made / "own"}};
  const PythonStart its{{{"PATH", made / "its"}}, {made / "venv/bin/python", "train.py"}};
  CHECK(find_py_spy(own, its).empty());
  const std::string beside = made.with_py_spy("venv/bin");
  CHECK(find_py_spy(own, its) == beside);
  const std::string in_its = made.with_py_spy("its");
  CHECK(find_py_spy(own, its) == in_its);
  const std::string in_own = made.with_py_spy("own");
  CHECK(find_py_spy(own, its) == in_own);
}

TEST_CASE("of another user's process nothing is believed", "[py_spy]") {
  const PySpyPlaces made;
  const std::string own = made.with_py_spy("own");
  CHECK(find_py_spy({{"PATH", made / "none"}}, std::nullopt).empty());
  CHECK(find_py_spy({{"PATH", made / "own"}}, std::nullopt) == own);
}

TEST_CASE("a py-spy that others could have put there is passed over", "[py_spy]") {
  const PySpyPlaces made;
  (void)made.with_py_spy("open");
  std::filesystem::permissions(made / "open", std::filesystem::perms(0777));
  const std::string beside = made.with_py_spy("venv/bin");
  CHECK(find_py_spy({{"PATH", made / "open"}}, PythonStart{{}, {made / "venv/bin/python"}}) ==
        beside);
}

TEST_CASE("a py-spy at a path that is not from the root on is none", "[py_spy]") {
  const PySpyPlaces made;
  (void)made.with_py_spy("venv/bin");
  for (const char* word : {"python", "./python", ""})
    CHECK(find_py_spy({}, PythonStart{{}, {word}}).empty());
  CHECK(find_py_spy({}, PythonStart{{}, {}}).empty());
}
