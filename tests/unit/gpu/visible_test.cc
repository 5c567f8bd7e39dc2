#include "safelaunch/gpu/visible.h"

#include "catch.h"
#include "made_folder.h"
#include "made_gpus.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/gpu/findings.h"

namespace safelaunch::gpu {
namespace {

using testing::facts_of;
using testing::made_gpu;
using testing::MadeFolder;
using Names = std::vector<std::string>;

constexpr Duration kLong = std::chrono::minutes(1);

/// A shell script in the place of safelaunch-probe, and a libcuda in reach.
class AskedDriver : public MadeFolder {
 public:
  explicit AskedDriver(const std::string& does) {
    library("lib/libcuda.so.1");
    const auto script = file("probe", "#!/bin/sh\n" + does + "\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  }

  [[nodiscard]] VisibleGpus asked(Duration deadline = kLong) const {
    return ask_cuda(path("probe"), {}, deadline);
  }
  [[nodiscard]] Environment environment() const {
    return {{"LD_LIBRARY_PATH", path("lib")}, {"SAFELAUNCH_PROBE_PROGRAM", path("probe")}};
  }
};

VisibleGpus told(const std::string& words) {
  return AskedDriver("echo '" + words + "'").asked();
}

VisibleGpus without_gpus(Trouble trouble) {
  return {trouble, "as libcuda says", {}, {}};
}

Facts nvml_with(Trouble trouble) {
  Facts facts;
  facts.trouble = trouble;
  return facts;
}

/// "cause severity" of the findings once libcuda has spoken, where so many GPUs could be used.
Names findings_by(const VisibleGpus& visible, const Facts& nvml, int gpus,
                  std::vector<Finding> findings = {}) {
  Use use;
  use.gpus = gpus;
  add_visible_findings(visible, nvml, use, findings);
  Names words;
  for (const Finding& one : findings) words.push_back(one.cause + " " + name(one.severity));
  return words;
}

}  // namespace

TEST_CASE("libcuda tells its CUDA and the GPUs that it shows", "[gpu]") {
  const auto visible = told(R"({"cuda":13010,"gpus":["NVIDIA H100","NVIDIA L4"]})");
  CHECK(visible.trouble == Trouble::none);
  CHECK(visible.cuda == "13.1");
  CHECK(visible.names == Names{"NVIDIA H100", "NVIDIA L4"});
  CHECK(visible.why.empty());
}

TEST_CASE("lines of others around the driver's answer are no answer", "[gpu]") {
  const AskedDriver driver(R"(echo 'loading {'; echo '{"cuda":12080,"gpus":["L4", 7]}'; echo bye)");
  CHECK(driver.asked().names == Names{"L4"});
}

TEST_CASE("a driver without a GPU is well, and none is found", "[gpu]") {
  const auto none = told(R"({"failed":"cuInit: CUDA_ERROR_NO_DEVICE","lacks":"gpu"})");
  CHECK(none.trouble == Trouble::none);
  CHECK(none.names.empty());
  CHECK(none.why == "cuInit: CUDA_ERROR_NO_DEVICE");
  CHECK(told(R"({"cuda":12080,"gpus":[]})").why == "the CUDA driver names no GPU");
  CHECK(told(R"({"gpus":"NVIDIA L4"})").why == "the CUDA driver names no GPU");
}

TEST_CASE("a driver that fails, dies or is not there says so", "[gpu]") {
  const auto failed = told(R"({"failed":"cuInit: CUDA_ERROR_UNKNOWN"})");
  CHECK(failed.trouble == Trouble::failed);
  CHECK(failed.why == "cuInit: CUDA_ERROR_UNKNOWN");
  const auto crashed = AskedDriver("kill -SEGV $$").asked();
  CHECK(crashed.trouble == Trouble::crashed);
  CHECK(crashed.why == "the CUDA driver gave no answer: killed by SIGSEGV");
  CHECK(told(R"({"failed":"no CUDA driver","lacks":"driver"})").trouble == Trouble::no_driver);
  CHECK(ask_cuda("/no/such/program", {}, kLong).trouble == Trouble::failed);
}

TEST_CASE("a driver that hangs is told at the deadline", "[gpu]") {
  const auto silent = AskedDriver("read -r nothing").asked(Duration(200));
  CHECK(silent.trouble == Trouble::no_answer);
  CHECK(silent.names.empty());
  CHECK(silent.why == "the CUDA driver does not answer within 0.2s");
}

TEST_CASE("a driver that does not tell its CUDA has none", "[gpu]") {
  for (const std::string cuda : {"0", "-13000", "\"13.0\"", "null"}) {
    const auto visible = told("{\"cuda\":" + cuda + ",\"gpus\":[\"NVIDIA L4\"]}");
    CHECK(visible.names.size() == 1);
    CHECK(visible.cuda.empty());
  }
}

TEST_CASE("a libcuda in reach is enough to ask, without any device file", "[gpu]") {
  const AskedDriver driver(R"(test "$1" = driver && echo '{"cuda":13000,"gpus":["NVIDIA H100"]}')");
  CHECK(may_find_gpu(driver.environment()));
  CHECK(find_visible_gpus(driver.environment()).names == Names{"NVIDIA H100"});
}

TEST_CASE("nobody is asked where nothing speaks for a GPU", "[gpu]") {
  const AskedDriver driver("touch \"${0%/*}/asked\"");
  Environment environment = driver.environment();
  environment.erase("LD_LIBRARY_PATH");
  if (may_find_gpu(environment)) return;  // this host may have a GPU
  CHECK(find_visible_gpus(environment).trouble == Trouble::no_driver);
  CHECK_FALSE(std::filesystem::exists(driver.path("asked")));
}

TEST_CASE("libcuda's count goes before NVML's and the kernel's", "[gpu]") {
  const Facts two = facts_of({made_gpu(0), made_gpu(1)});
  CHECK(count_gpus({Trouble::none, "", "13.0", {"H100"}}, two, 2) == 1);
  CHECK(count_gpus({Trouble::none, "", "13.0", {"H100"}}, nvml_with(Trouble::no_driver), 0) == 1);
  CHECK(count_gpus(without_gpus(Trouble::none), two, 2) == 0);
  CHECK(count_gpus(without_gpus(Trouble::no_driver), two, 2) == 0);
}

TEST_CASE("where libcuda fails NVML counts, and a silent driver leaves the kernel's devices",
          "[gpu]") {
  const Facts two = facts_of({made_gpu(0), made_gpu(1)});
  CHECK(count_gpus(without_gpus(Trouble::failed), two, 0) == 2);
  CHECK(count_gpus(without_gpus(Trouble::failed), nvml_with(Trouble::no_driver), 4) == 4);
  for (const Trouble ill : {Trouble::no_answer, Trouble::crashed}) {
    CHECK(count_gpus(without_gpus(ill), two, 8) == 8);
    CHECK(count_gpus(without_gpus(ill), two, 0) == std::nullopt);
  }
}

TEST_CASE("a libcuda that hangs or dies where NVML answers is a finding that blocks", "[gpu]") {
  const Facts two = facts_of({made_gpu(0), made_gpu(1)});
  CHECK(findings_by(without_gpus(Trouble::no_answer), two, 2) == Names{"driver-silent blocks"});
  CHECK(findings_by(without_gpus(Trouble::crashed), two, 2) == Names{"gpu-ill blocks"});
  // NVML's own finding says it.
  CHECK(findings_by(without_gpus(Trouble::no_answer), nvml_with(Trouble::no_answer), 2).empty());
}

TEST_CASE("GPUs of which CUDA gets none are a finding", "[gpu]") {
  CHECK(findings_by(without_gpus(Trouble::failed), {}, 2) == Names{"cuda-unknown risk"});
  CHECK(findings_by(without_gpus(Trouble::no_driver), {}, 2) == Names{"no-gpu risk"});
  CHECK(findings_by(without_gpus(Trouble::none), {}, 2) == Names{"no-gpu risk"});
  // CUDA_VISIBLE_DEVICES hides all, or none is here.
  for (const Trouble trouble : {Trouble::failed, Trouble::no_driver, Trouble::none})
    CHECK(findings_by(without_gpus(trouble), {}, 0).empty());
}

TEST_CASE("a missing NVML is no missing GPU where CUDA works", "[gpu]") {
  const Finding no_nvml{cause::kNoGpu, Severity::note, "no NVML", "look"};
  const Facts none = nvml_with(Trouble::no_driver);
  CHECK(findings_by({Trouble::none, "", "13.0", {"H100"}}, none, 0, {no_nvml}).empty());
  CHECK(findings_by(without_gpus(Trouble::none), none, 0, {no_nvml}) == Names{"no-gpu note"});
}

}  // namespace safelaunch::gpu
