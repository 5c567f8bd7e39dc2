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
  CHECK_FALSE(blames_cuda(raised("CUDA out of memory. Tried to allocate 2 GiB")));
  AttemptRecord killed;
  killed.command = Signaled{6};
  killed.tails = {{{std::nullopt, output::StdStream::err}, "what():  CUDA error: unknown error\n"}};
  CHECK(blames_cuda(killed));
  killed.command = Exited{0};
  CHECK_FALSE(blames_cuda(killed));
}

TEST_CASE("the ill GPUs of a job are those that it may use", "[gpu_doubt]") {
  CHECK(ill_gpus(two_gpus(gpu::Health::well), {}).empty());
  CHECK(ill_gpus(two_gpus(gpu::Health::lost), {}) ==
        std::vector<std::string>{"GPU 1 is lost: it has fallen off the bus"});
  CHECK(ill_gpus(two_gpus(gpu::Health::lost), {{"CUDA_VISIBLE_DEVICES", "0"}}).empty());
}

TEST_CASE("a GPU that is ill after an error of CUDA's is the error's cause", "[gpu_doubt]") {
  for (const char* message : {"CUDA error: unspecified launch failure", "CUDA error: unknown error",
                              "CUDA error: CUDA-capable device(s) is/are busy or unavailable"}) {
    AttemptRecord record = raised(message);
    CHECK(cause_of(record) != "gpu-ill");
    record.ill_gpus = {"GPU 1 is lost: it has fallen off the bus"};
    CHECK(cause_of(record) == "gpu-ill");
  }
}
