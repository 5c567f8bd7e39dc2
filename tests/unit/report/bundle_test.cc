#include "safelaunch/report/report.h"

#include <sys/stat.h>
#include <zlib.h>

#include <array>
#include <nlohmann/json.hpp>

#include "catch.h"
#include "recorded_runs.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;

using namespace safelaunch::report;
using namespace safelaunch::testing;

namespace {

std::string gunzipped(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, MAX_WBITS + 16) == Z_OK);
  std::string result(200'000'000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

// Name → text, by the headers' own fields.
std::map<std::string, std::string> unpacked(const std::string& bytes) {
  const std::string archive = gunzipped(bytes);
  std::map<std::string, std::string> files;
  std::size_t at = 0;
  while (archive[at] != '\0') {
    const std::string prefix = archive.c_str() + at + 345;
    const std::string name = archive.substr(at, 100).c_str();
    CHECK(archive.substr(at + 257, 5) == "ustar");
    const std::size_t size = std::stoul(archive.substr(at + 124, 11), nullptr, 8);
    files[prefix.empty() ? name : prefix + "/" + name] = archive.substr(at + 512, size);
    at += 512 + (size + 511) / 512 * 512;
  }
  CHECK(archive.size() == at + 1024);
  return files;
}

// One canary in each of these places, 200 in all: a secret with a name that says so, in every
// notation that programs print.
struct Canaries {
  std::vector<std::string> values;
  report::RunFiles files;
  Environment environment;

  std::string next() {
    values.push_back(
        fmt::format("cAnary{:03}zq{:05}", values.size(), 7919 * values.size() % 99991));
    return values.back();
  }
};

Canaries canaries() {
  constexpr std::array<const char*, 8> kNames{
      "HF_TOKEN",  "WANDB_API_KEY",  "db_password",      "AWS_SECRET_ACCESS_KEY",
      "my-secret", "OPENAI_API_KEY", "AZURE_CREDENTIAL", "AUTH_KEY"};
  Canaries made;
  std::string log;
  std::string stack = "thread MainThread (innermost last)\n";
  std::string events;
  std::string diff;
  nlohmann::json command = {"python", "train.py"};
  for (const std::string name : kNames) {
    made.environment["P23_" + name] = made.next();
    log += "bare " + made.values.back() + "\n";  // known from the environment
    log += fmt::format("{}={}\n", name, made.next());
    log += fmt::format("[rank0]: {}={} next\n", name, made.next());
    log += fmt::format("\x1b[32m{}\x1b[0m: \x1b[1m{}\x1b[0m\n", name, made.next());
    log += fmt::format("{{\"{}\": \"{}\", \"lr\": 1}}\n", name, made.next());
    log += fmt::format("Namespace(x=1, {}='{}', y=2)\n", name, made.next());
    log += fmt::format("run --{} {} --lr 1\n", name, made.next());
    log += fmt::format("run --{}={}\n", name, made.next());
    log += fmt::format("http://u:{}@host:80/x\n", made.next());
    log += fmt::format("https://h/x?a=1&{}={}&b=2\n", name, made.next());
    log += fmt::format("Authorization: Bearer {}\n", made.next());
    log += fmt::format("json in json: {{\\\"{}\\\": \\\"{}\\\"}}\n", name, made.next());
    log += fmt::format("progress {}={}\rdone\n", name, made.next());
    log += fmt::format("{}: |-  {}\n", name, made.next());
    stack += fmt::format("  train.py:7 login({}='{}')\n", name, made.next());
    stack += fmt::format("  client.py:9 get https://u:{}@hub/x\n", made.next());
    command.push_back(fmt::format("--{}", name));
    command.push_back(made.next());
    command.push_back(fmt::format("--{}={}", name, made.next()));
    command.push_back(fmt::format("s3://key:{}@bucket", made.next()));
    diff += fmt::format("+ {}={}  # profile mine\n", name, made.next());
    nlohmann::json event{{"t", 1}, {"e", "status"}, {"attempt", 1}};
    event["text"] = fmt::format("hook: {}={}", name, made.next());
    event[name] = made.next();
    event["texts"] = {fmt::format("'{}': '{}'", name, made.next())};
    events += event.dump() + "\n";
    events += fmt::format("{{\"t\":1,\"{}\":\"{}\",\"e\":\"sta\n", name, made.next());  // torn
    made.environment["NCCL_" + name] = made.next();
  }
  add(made.files, "attempt-1-basic/env.diff", diff);
  add(made.files, "attempt-1-basic/evidence/rank-0.stack", stack);
  add(made.files, "attempt-1-basic/rank-0.err", log);
  events += nlohmann::json{{"t", 2}, {"e", "attempt"}, {"attempt", 1}, {"command", command}}.dump();
  add(made.files, "events.jsonl", events + "\n");
  add(made.files, "job.json", nlohmann::json{{"run", "r1"}, {"command", command}}.dump());
  made.files.directory = "/runs/r1";
  return made;
}

}  // namespace

TEST_CASE("of 200 secrets none reaches the text, the page or the bundle", "[bundle]") {
  Canaries made = canaries();
  REQUIRE(made.values.size() >= 200);
  for (report::RecordedFile& fact : report::system_facts(made.environment))
    made.files.files.push_back(fact);
  const report::RunFiles files = report::cleaned(made.files, made.environment);
  const report::RunRecord run = report::parse_run(files);
  std::string all = report::text_report(run) + report::html_report(run);
  for (const auto& [name, text] : unpacked(report::bundle(files, run))) all += name + "\n" + text;
  for (const std::string& value : made.values) {
    INFO(value);
    CHECK_FALSE(contains(all, value));
    CHECK_FALSE(contains(all, value.substr(0, 11)));  // nor its first part
  }
  CHECK(contains(all, "[redacted]"));
}

TEST_CASE("a bundle holds the run, the reports, the host, and a word on all of it", "[bundle]") {
  report::RunFiles files = healed_run();
  for (report::RecordedFile& fact :
       report::system_facts({{"NCCL_DEBUG", "INFO"}, {"HOME", "/home/ann"}}))
    files.files.push_back(fact);
  files.files[3].left_out = 100;
  const auto inside = unpacked(report::bundle(files, report::parse_run(files)));
  const std::string folder = "safelaunch-20261121-150653-b939a3/";
  for (const char* name : {"README.txt", "report.txt", "report.html", "job.json", "events.jsonl",
                           "attempt-1-basic/rank-1.err", "system/meminfo", "system/interfaces"})
    CHECK(inside.count(folder + name) == 1);
  CHECK(inside.at(folder + "job.json") == kJob);
  CHECK(inside.at(folder + "system/variables") == "NCCL_DEBUG=INFO\n");
  const std::string& readme = inside.at(folder + "README.txt");
  CHECK(contains(readme, "system/meminfo"));
  CHECK(contains(readme, "attempt-1-basic/rank-1.err  the last "));
  CHECK(contains(readme, "Look through it before you give it away."));
}

TEST_CASE("a run's name does not lead out of the folder of a bundle", "[bundle]") {
  report::RunFiles files;
  add(files, "job.json", R"({"run":"../../etc/x"})");
  for (const auto& [name, text] : unpacked(report::bundle(files, report::parse_run(files))))
    CHECK(name.starts_with("safelaunch-______etc_x/"));
}

TEST_CASE("long names fit into an archive as far as its format allows", "[bundle]") {
  report::RunFiles files = healed_run();
  const std::string fitting = "attempt-1-basic/nccl." + std::string(70, 'h') + ".1";
  const std::string too_long = "attempt-1-basic/nccl." + std::string(200, 'h') + ".1";
  add(files, fitting, "x");
  add(files, too_long, "x");
  const auto inside = unpacked(report::bundle(files, report::parse_run(files)));
  CHECK(inside.count("safelaunch-20261121-150653-b939a3/" + fitting) == 1);
  CHECK(contains(inside.at("left-out.txt"), too_long));
}

TEST_CASE("a bundle is private, and overwrites nothing", "[bundle]") {
  const ScratchFolder folder;
  REQUIRE(report::write_new_file(folder.path / "b.tar.gz", "first").has_value());
  struct stat facts {};
  REQUIRE(stat((folder.path / "b.tar.gz").c_str(), &facts) == 0);
  CHECK((facts.st_mode & 0777) == 0600);
  CHECK(facts.st_nlink == 1);
  const auto again = report::write_new_file(folder.path / "b.tar.gz", "second");
  REQUIRE(again.has_error());
  CHECK(contains(again.error().message, "b.tar.gz: File exists"));
  CHECK(read_file(folder.path / "b.tar.gz") == "first");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path),
                      std::filesystem::directory_iterator()) == 1);
  CHECK(report::write_new_file("/proc/none/b.tar.gz", "x").has_error());
}

TEST_CASE("facts of a host without any of the files are those of its kernel alone", "[bundle]") {
  const ScratchFolder root;
  root.write("etc/os-release", "NAME=x\n");
  root.write("sys/class/net/eth0/mtu", "1500\n");
  root.write("proc/cpuinfo", "processor : 0\n\nprocessor : 1\n");
  std::map<std::string, std::string> facts;
  for (const report::RecordedFile& fact : report::system_facts({}, root.path))
    facts[fact.name] = fact.text;
  CHECK(facts.at("system/os-release") == "NAME=x\n");
  CHECK(facts.at("system/interface-properties") == "eth0/mtu 1500\n");
  CHECK(facts.at("system/cpuinfo") == "processor : 0\n");
  CHECK(facts.count("system/meminfo") == 0);
}
