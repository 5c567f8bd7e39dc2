#include "catch.h"
#include "safelaunch/nccl/log_fact.h"

using namespace safelaunch;

using namespace safelaunch::nccl;

namespace {

const std::string kHead = "node7:4711:4715 [0] NCCL INFO ";

template <class Told>
std::optional<Told> read(const std::string& text) {  // a fact refers to its line
  const auto line = split_nccl_line(text);
  if (!line) return std::nullopt;
  const Fact fact = fact_of(*line);
  const auto* held = std::get_if<Told>(&fact);
  return held == nullptr ? std::nullopt : std::optional(*held);
}

bool says_nothing(const std::string& text) {
  const auto line = split_nccl_line(text);
  return line && std::holds_alternative<std::monostate>(fact_of(*line));
}

}  // namespace

TEST_CASE("a line of NCCL has a writer, a level, perhaps a place, and a text", "[nccl]") {
  const auto info = split_nccl_line("node7:4711:4715 [0] NCCL INFO Using network Socket");
  REQUIRE(info);
  CHECK(info->host == "node7");
  CHECK(info->pid == 4711);
  CHECK(info->thread == 4715);
  CHECK(info->level == Level::info);
  CHECK(info->place.empty());
  CHECK(info->text == "Using network Socket");

  const auto warn = split_nccl_line(
      "[2026-11-20 18:15:23] node7:4711:4715 [0] init.cc:904 NCCL WARN Duplicate GPU detected");
  REQUIRE(warn);
  CHECK(warn->level == Level::warn);
  CHECK(warn->place == "init.cc:904");

  const auto with_function = split_nccl_line(
      "[2026-11-20 18:16:45.123456] node7:4711:4715 [-1701016182] bootstrap.cc:348 (bootstrapRoot) "
      "NCCL WARN Bootstrap Root : rank 1 of 3 ranks has already checked in");
  REQUIRE(with_function);
  CHECK(with_function->place == "bootstrap.cc:348");
}

TEST_CASE("ATTN stands in a line as WARN does, DIAG names no thread", "[nccl]") {
  const auto attn = split_nccl_line(
      "[2026-11-20 18:15:23] node7:1:2 [0] plugin.cc:7 (load) NCCL ATTN Could not load it");
  REQUIRE(attn);
  CHECK(attn->level == Level::attn);
  const auto diag = split_nccl_line("node7:4711 NCCL DIAG [OK] P2P between GPU 0 and GPU 1");
  REQUIRE(diag);
  CHECK(diag->level == Level::diag);
  CHECK(diag->pid == 4711);
  CHECK(diag->thread == 0);
  CHECK_FALSE(split_nccl_line("node7:4711 NCCL INFO Using network Socket"));
}

TEST_CASE("tags that a launcher puts in front do not hide a line", "[nccl]") {
  for (const char* tag : {"[rank3]: ", "[default0]:", "[1,3]<stdout>"}) {
    INFO(tag);
    const auto line = split_nccl_line(tag + kHead + "Using network Socket");
    REQUIRE(line);
    CHECK(line->pid == 4711);
  }
}

TEST_CASE("a communicator that was split off names its parent instead of an id", "[nccl]") {
  const auto child = read<InitStarted>(
      kHead +
      "ncclCommSplit comm 0x7f01 rank 1 nranks 2 cudaDev 3 nvmlDev 3 busId 40000 parent "
      "0x7f00 splitCount 2 color 1 key 5- Init START");
  REQUIRE(child);
  CHECK(child->part.address == 0x7f01);
  CHECK(child->part.rank == 1);
  CHECK_FALSE(child->id);
  REQUIRE(child->child);
  CHECK(child->child->parent == 0x7f00);
  CHECK(child->child->split == 2);
  CHECK(child->child->color == 1);

  const auto newer = read<InitStarted>(
      kHead +
      "[Rank 1] ncclCommSplit comm 0x7f01 rank 1 nranks 2 cudaDev 3 nvmlDev 3 busId 40000 "
      "parent 0x7f00 childCount 2 color 1 key 5 - Init START");
  REQUIRE(newer);
  CHECK(newer->child->split == 2);
}

TEST_CASE("the id of a communicator is a number, padded or not", "[nccl]") {
  const auto started = read<InitStarted>(
      kHead +
      "ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 10000 commId "
      "0x8ede8fe29bf6495 - Init START");
  REQUIRE(started);
  CHECK(started->id == 0x8ede8fe29bf6495);
}

TEST_CASE("a number out of its range makes a line that says nothing", "[nccl]") {
  const auto started = [](const std::string& numbers) {
    return kHead + "comm 0x1 " + numbers + " cudaDev 0 busId 1 commId 0x2 - Init START";
  };
  CHECK_FALSE(says_nothing(started("rank 1 nranks 2")));
  CHECK(says_nothing(started("rank 2 nranks 2")));
  CHECK(says_nothing(started("rank -1 nranks 2")));
  CHECK(says_nothing(started("rank 0 nranks 0")));
  CHECK(says_nothing(started("rank 0 nranks 1048577")));
  CHECK(says_nothing(started("rank 0 nranks 99999999999999999999")));
  CHECK(says_nothing(started("rank 0x0 nranks 2")));
  CHECK(says_nothing(kHead + "comm 0xfffffffffffffffff rank 0 nranks 2 commId 0x2 - Init START"));
  CHECK(says_nothing(kHead + "NCCL version 2.x"));
  CHECK_FALSE(split_nccl_line("node7:0:1 [0] NCCL INFO Using network Socket"));
  CHECK_FALSE(split_nccl_line("node7:99999999999:1 [0] NCCL INFO Using network Socket"));
}

TEST_CASE("a collective is told by its name and its communicator", "[nccl]") {
  const std::string line =
      kHead +
      "AllReduce: opCount 0 sendbuff 0x7f1 recvbuff 0x7f2 count 1 datatype 7 op 0 root 0 "
      "comm 0x7f3 [nranks=2] stream 0x7f4";
  const auto called = read<CollectiveCalled>(line);
  REQUIRE(called);
  CHECK(called->operation == "AllReduce");
  CHECK(called->address == 0x7f3);
}

TEST_CASE("an interface with an IPv6 address is read", "[nccl]") {
  const std::string line = kHead + "Bootstrap: Using ib0:fe80::1%ib0<0>";
  const auto chosen = read<InterfaceChosen>(line);
  REQUIRE(chosen);
  CHECK(chosen->name == "ib0");
}

TEST_CASE("what NCCL merely mentions is no news", "[nccl]") {
  for (const char* text :
       {"NCCL_SOCKET_IFNAME set to nope", "Channel 00/02 : 0 1", "NET/IB : No device found.",
        "Failed to initialize NET plugin IB", "Init timings - ncclCommInitRank: rank 0 nranks 2"}) {
    INFO(text);
    CHECK(says_nothing(kHead + text));
  }
}

TEST_CASE("lines of others are no lines of NCCL", "[nccl]") {
  for (const char* text : {"", "NCCL", " NCCL ", " NCCL INFO x", "epoch 3 NCCL INFO x",
                           "RuntimeError: NCCL error in: x.cpp:3, NCCL version 2.29.7",
                           "a:b:c [0] NCCL INFO x", ":1:2 [0] NCCL INFO x", "[[[[ NCCL WARN x"}) {
    INFO(text);
    CHECK_FALSE(split_nccl_line(text));
  }
}
