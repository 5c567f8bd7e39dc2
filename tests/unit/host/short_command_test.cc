#include "safelaunch/host/process_facts.h"

#include <unistd.h>

#include "catch.h"
#include "child.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace std::chrono_literals;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;

TEST_CASE("a command line cannot write to the terminal, and is cut behind a whole character") {
  const std::string umlauts = "\x1b[31mäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü";
  Child child(
      [&] { ::execl("/bin/sh", "sh", "-c", "sleep 1000; true", umlauts.c_str(), nullptr); });
  const auto command = [&] { return short_command_of(child.pid(), "sh"); };

  REQUIRE(eventually([&] { return command().starts_with("sh -c"); }));
  CHECK(command() == "sh -c sleep 1000; true ?[31mäöüäöüäöüäöüäöüä…");
}

TEST_CASE("a command line is told without its secrets, however it is cut") {
  Child child([&] {
    ::execl("/bin/sh", "sh", "-c", "sleep 1000; true", "--wandb-key", "tHe5eCretOfmine123",
            "--password=hunter2hunter2", nullptr);
  });
  const auto command = [&] { return short_command_of(child.pid(), "sh"); };
  REQUIRE(eventually([&] { return command().starts_with("sh -c"); }));
  CHECK(command() == "sh -c sleep 1000; true --wandb-key [redacted] --password=[re…");
}

TEST_CASE("of a command line that is too long the programs are told by their names alone") {
  Child child([&] {
    ::execl("/bin/sh", "/opt/a/long/way/to/an/environment/bin/python", "-c", "sleep 1000; true",
            "/opt/a/long/way/to/an/environment/bin/torchrun", "train.py", nullptr);
  });
  const auto command = [&] { return short_command_of(child.pid(), "sh"); };
  REQUIRE(eventually([&] { return command().starts_with("python"); }));
  CHECK(command() == "python -c sleep 1000; true torchrun train.py");
}

TEST_CASE("a process without a command line goes by another name") {
  Child zombie([] {});
  CHECK(eventually([&] { return short_command_of(zombie.pid(), "python") == "python"; }));
}

TEST_CASE("controls above ASCII and bytes that are no text reach no terminal either") {
  const std::string bad =
      "\xc2\x9b"
      "31m\xff\xc3(\xe2\x82\x7f";
  Child child([&] { ::execl("/bin/sh", "sh", "-c", "sleep 1000; true", bad.c_str(), nullptr); });
  const auto command = [&] { return short_command_of(child.pid(), "sh"); };

  REQUIRE(eventually([&] { return command().starts_with("sh -c"); }));
  const std::string shown = command();
  for (const char* part : {"\xc2\x9b", "\xff", "\xe2\x82", "\x7f"})
    CHECK(shown.find(part) == std::string::npos);
  CHECK(
      shown.starts_with("sh -c sleep 1000; true ?31m?"
                        "?("));
}
