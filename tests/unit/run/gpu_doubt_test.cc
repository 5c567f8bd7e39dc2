#include "launcher/run/gpu_doubt.h"

#include "catch.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"

using namespace safelaunch;

using namespace safelaunch::run;

namespace {

AttemptRecord raised(const std::string& message) {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.raised = {{Rank{1}, {}, "torch.AcceleratorError", message, "Traceback", false}};
  return record;
}

std::vector<std::string> troubles(const gpu::Facts& facts, const Environment& environment) {
  std::vector<std::string> texts;
  for (const Finding& one : troubled_gpus(facts, environment)) texts.push_back(one.evidence);
  return texts;
}

gpu::Facts two_gpus(gpu::Health second) {
  gpu::Facts facts;
  facts.gpus.resize(2);
  facts.gpus[1].index = 1;
  facts.gpus[1].health = second;
  return facts;
}

std::string cause_of(const AttemptRecord& record) {
  return diagnose::diagnose(make_evidence(record, {}), diagnose::Catalogue::builtin())
      .failure.cause;
}

}  // namespace

TEST_CASE("only an attempt that ended with an error of CUDA's blames it", "[gpu_doubt]") {
  CHECK(blames_cuda(raised("CUDA error: unspecified launch failure")));
  CHECK(blames_cuda(raised("CUDA out of memory. Tried to allocate 2 GiB")));
  CHECK_FALSE(blames_cuda(raised("the index 5 is out of range")));
  AttemptRecord killed;
  killed.command = Signaled{6};
  killed.tails = {{{std::nullopt, output::StdStream::err}, "what():  CUDA error: unknown error\n"}};
  CHECK(blames_cuda(killed));
  killed.command = Exited{0};
  CHECK_FALSE(blames_cuda(killed));
}

TEST_CASE("the ill GPUs of a job are those that it may use", "[gpu_doubt]") {
  CHECK(troubles(two_gpus(gpu::Health::well), {}).empty());
  CHECK(troubles(two_gpus(gpu::Health::lost), {}) ==
        std::vector<std::string>{"GPU 1 is lost: it has fallen off the bus"});
  CHECK(troubles(two_gpus(gpu::Health::lost), {{"CUDA_VISIBLE_DEVICES", "0"}}).empty());
}

TEST_CASE("who fills a GPU on which a job found no memory is told with its pid", "[gpu_doubt]") {
  gpu::Facts facts = two_gpus(gpu::Health::well);
  facts.gpus[0].memory_mib = 143'771;
  facts.gpus[0].used_mib = 140'084;
  facts.gpus[0].processes = {{1232, 140'076}};
  AttemptRecord record = raised("CUDA out of memory. Tried to allocate 8.00 GiB.");
  CHECK(cause_of(record) == "gpu-oom");
  record.troubled_gpus = troubled_gpus(facts, {});
  REQUIRE(record.troubled_gpus.size() == 1);
  CHECK(record.troubled_gpus.front().evidence.find("by pid 1232 (140076 MiB)") !=
        std::string::npos);
  CHECK(cause_of(record) == "gpu-held");
  facts.gpus[0].used_mib = 20'000;  // the rest is the job's to use
  CHECK(troubled_gpus(facts, {}).empty());
}

TEST_CASE("a GPU that is ill after an error of CUDA's is the error's cause", "[gpu_doubt]") {
  for (const char* message : {"CUDA error: unspecified launch failure", "CUDA error: unknown error",
                              "CUDA error: CUDA-capable device(s) is/are busy or unavailable"}) {
    AttemptRecord record = raised(message);
    CHECK(cause_of(record) != "gpu-ill");
    record.troubled_gpus = troubled_gpus(two_gpus(gpu::Health::lost), {});
    CHECK(cause_of(record) == "gpu-ill");
  }
}
