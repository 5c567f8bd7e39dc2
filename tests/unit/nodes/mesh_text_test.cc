#include <algorithm>

#include "catch.h"
#include "safelaunch/nodes/mesh.h"

using namespace safelaunch;
using namespace safelaunch::nodes;
using namespace std::chrono_literals;

namespace {

std::string repeated(const std::string& one, int times) {
  std::string list = "[";
  for (int i = 0; i < times; ++i) list += (i > 0 ? "," : "") + one;
  return list + "]";
}

std::string door_json(const std::string& port) {
  return R"({"doors":[{"if":"eth0","at":"10.0.0.1","port":)" + port + "}]}";
}

/// A way as another node tells it, with these fields besides.
std::vector<Way> way_with(const std::string& fields) {
  return ways_from(R"([{"seat":1,"if":"eth0","end":"reached")" + fields + "}]");
}

}  // namespace

TEST_CASE("every way can end as it does in every other version: the words stay", "[mesh_text]") {
  const std::vector<std::pair<Way::End, std::string>> ends{
      {Way::End::reached, "reached"},       {Way::End::no_answer, "no answer"},
      {Way::End::refused, "refused"},       {Way::End::no_route, "no route"},
      {Way::End::other_host, "other host"}, {Way::End::unknown, "unknown"}};
  for (const auto& [end, word] : ends) {
    const std::vector<Way> ways{{3, "eth0", end}};
    const std::string text = to_text(ways);
    CHECK(text == R"([{"end":")" + word + R"(","if":"eth0","seat":3}])");
    CHECK(ways_from(text) == ways);
  }
}

TEST_CASE("a way's times travel, and those that are not known are left out", "[mesh_text]") {
  const std::vector<Way> ways{{1, "ib0", Way::End::reached, 37us, -3'000'000us, 20us}};
  CHECK(to_text(ways) == R"([{"ahead_us":-3000000,"end":"reached","error_us":20,"if":"ib0",)"
                         R"("round_trip_us":37,"seat":1}])");
  CHECK(ways_from(to_text(ways)) == ways);
}

TEST_CASE("a door needs an interface and a port that exists", "[mesh_text]") {
  for (const char* port : {"0", "65536", "-1", "\"80\"", "1.5", "null", "1e3"})
    CHECK(doors_from(door_json(port)).doors.empty());
  for (const int port : {1, 65'535})
    CHECK(doors_from(door_json(std::to_string(port))).doors ==
          std::vector<Door>{{"eth0", "10.0.0.1", port}});
  CHECK(doors_from(R"({"doors":[{"at":"10.0.0.1","port":80}]})").doors.empty());
  CHECK(doors_from(R"({"doors":{"if":"eth0","port":80}})").doors.empty());
}

TEST_CASE("one torn door does not take the others with it", "[mesh_text]") {
  const NodeDoors doors = doors_from(
      R"({"name":"n","doors":[7,null,{"if":"eth0","at":"a","port":1},{"if":"eth1"}],"nccl":"eth0",)"
      R"("named":"yes"})");
  CHECK(doors.doors == std::vector<Door>{{"eth0", "a", 1}});
  CHECK(doors.name == "n");
  CHECK(doors.nccl == "eth0");
  CHECK_FALSE(doors.nccl_named);
}

TEST_CASE("a node tells the name of its firewall, and another word is none", "[mesh_text]") {
  NodeDoors doors{.name = "n"};
  doors.firewall = host::Firewall::nft;
  CHECK(doors_from(to_text(doors)) == doors);
  CHECK(doors_from(R"({"firewall":"; rm -rf /"})").firewall == host::Firewall::unknown);
}

TEST_CASE("a node has sixteen doors at most, and names of 64 bytes", "[mesh_text]") {
  const std::string many = repeated(R"({"if":"eth0","at":"a","port":1})", 1'000);
  const std::string names = repeated(R"("10.0.0.1")", 1'000);
  const NodeDoors doors =
      doors_from(R"({"doors":)" + many + R"(,"master":)" + names + R"(,"name":")" +
                 std::string(5'000, 'x') + R"(","gloo":")" + std::string(63, 'g') + R"(ü"})");
  CHECK(doors.doors.size() == 16);
  CHECK(doors.master.size() == 16);
  CHECK(doors.name == std::string(64, 'x'));
  CHECK(doors.gloo == std::string(63, 'g'));  // no half character
}

TEST_CASE("a node tells 4096 ways at most", "[mesh_text]") {
  const std::string one = R"({"seat":1,"if":"eth0","end":"refused"})";
  CHECK(ways_from(repeated(one, 5'000)).size() == 4'096);
}

TEST_CASE("a time that nobody can have measured is not known", "[mesh_text]") {
  CHECK_FALSE(way_with(R"(,"ahead_us":4000000000000001)").front().ahead);
  CHECK_FALSE(way_with(R"(,"ahead_us":-4000000000000001)").front().ahead);
  CHECK_FALSE(way_with(R"(,"ahead_us":18446744073709551615)").front().ahead);
  CHECK_FALSE(way_with(R"(,"ahead_us":0.5)").front().ahead);
  CHECK(way_with(R"(,"ahead_us":-4000000000000000)").front().ahead == -4'000'000'000'000'000us);
}

TEST_CASE("no packet comes back before it was sent, and no error is below zero", "[mesh_text]") {
  const Way way = way_with(R"(,"round_trip_us":-7,"ahead_us":5,"error_us":-9)").front();
  CHECK(way.round_trip == 0us);
  CHECK(way.error == 0us);
  CHECK(way.ahead == 5us);
}

TEST_CASE("what is no way is left out, and the others stay", "[mesh_text]") {
  const auto ways = ways_from(R"([null,[],{"if":"a","end":"reached"},{"seat":1.5,"end":"reached"},)"
                              R"({"seat":1,"end":7},{"seat":1,"if":"b","end":"reached"}])");
  CHECK(ways == std::vector<Way>{{1, "b", Way::End::reached}});
}

TEST_CASE("doors of a seat that cannot be are left out", "[mesh_text]") {
  const AllDoors all = all_doors_from(
      R"([{"seat":-1,"name":"a"},{"name":"b"},{"seat":99999999999,"name":"c"},{"seat":2,"name":"d"}])");
  REQUIRE(all.size() == 1);
  CHECK(all.at(2).name == "d");
}

TEST_CASE("bytes that are no UTF-8 do not keep a node's doors from the others", "[mesh_text]") {
  NodeDoors doors;
  doors.name = "n\xff";
  doors.nccl_named = true;
  const NodeDoors read = doors_from(to_text(doors));
  CHECK(read.name == "n\xEF\xBF\xBD");
  CHECK(read.nccl_named);
}

TEST_CASE("text that ends early is none, wherever it ends", "[mesh_text]") {
  NodeDoors doors;
  doors.name = "n";
  doors.doors = {{"eth0", "10.0.0.1", 80}};
  const std::string text = to_text(doors);
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK(doors_from(text.substr(0, length)) == NodeDoors{});
}

TEST_CASE("of sixteen nodes each way is recorded, of more only those that are cut", "[mesh_text]") {
  const auto recorded = [](int nodes, Way::End end) {
    Mesh mesh;
    for (int seat = 0; seat < nodes; ++seat) {
      mesh[seat].host = "h";
      mesh[seat].ways = {{(seat + 1) % nodes, "eth0", end}};
    }
    const report::record::Ways ways = record_of(mesh);
    return std::pair(static_cast<int>(ways.end.size()), ways.left_out);
  };
  CHECK(recorded(16, Way::End::reached) == std::pair(16, 0));
  CHECK(recorded(17, Way::End::reached) == std::pair(0, 17));
  CHECK(recorded(17, Way::End::unknown) == std::pair(17, 0));
  CHECK(recorded(1'001, Way::End::refused) == std::pair(1'000, 1));
}

TEST_CASE("a recorded way tells who tried whom, where, and how long a packet took", "[mesh_text]") {
  Mesh mesh;
  mesh[0].host = "gpu-0";
  mesh[1].host = "gpu-1";
  mesh[0].ways = {{1, "ib0", Way::End::reached, 40us}, {1, "eth0", Way::End::no_route}};
  mesh[1].ways = {{0, "ib0", Way::End::reached, 1h}};
  const report::record::Ways ways = record_of(mesh);
  CHECK(ways.hosts == std::vector<std::string>{"gpu-0", "gpu-1"});
  CHECK(ways.from == std::vector<int>{0, 0, 1});
  CHECK(ways.to == std::vector<int>{1, 1, 0});
  CHECK(ways.interface == std::vector<std::string>{"ib0", "eth0", "ib0"});
  CHECK(ways.end == std::vector<std::string>{"reached", "no route", "reached"});
  CHECK(ways.round_trip_us == std::vector<int>{40, 0, 1'000'000'000});
}

TEST_CASE("a node that has told nothing is in the record by its name alone", "[mesh_text]") {
  Mesh mesh;
  mesh[0].host = "gpu-0";
  const report::record::Ways ways = record_of(mesh);
  CHECK(ways.hosts == std::vector<std::string>{"gpu-0"});
  CHECK(ways.end.empty());
  CHECK(ways.left_out == 0);
}
