#include "safelaunch/host/platform.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace std::chrono_literals;

TEST_CASE("a record of the kernel's log is its first line, with an age", "[kernel_log]") {
  const auto message =
      parse_kernel_message("6,339,5000000,-;NVRM: loading; open\n DEVICE=+pci:0000\n", 65s);
  REQUIRE(message);
  CHECK(*message == KernelMessage{"NVRM: loading; open", 60s});
}

TEST_CASE("what is no record is left out, and no age is below zero", "[kernel_log]") {
  CHECK_FALSE(parse_kernel_message("", 1s));
  CHECK_FALSE(parse_kernel_message("6,339,5000000,-", 1s));
  CHECK(parse_kernel_message("6,339,5000000,-;early", 1s)->age == 0s);
}

TEST_CASE("a part that nobody writes is in no message", "[kernel_log]") {
  CHECK(kernel_messages_with("no kernel ever wrote this line of ours").empty());
}

TEST_CASE("a record with further fields is read, its flags and tags left out", "[kernel_log]") {
  const auto message = parse_kernel_message(
      "3,12345,98724321000,c,caller=T71;NVRM: Xid (PCI:0000:1b:00): 79", 99'000s);
  REQUIRE(message);
  CHECK(message->text == "NVRM: Xid (PCI:0000:1b:00): 79");
  CHECK(message->age == 275'679ms);
}

TEST_CASE("a record whose stamp is no number is as old as the boot", "[kernel_log]") {
  CHECK(parse_kernel_message("6,339,late,-;text", 10s)->age == 10s);
  CHECK(parse_kernel_message(";text", 10s)->age == 10s);
}
