#include <cstdio>

#include "safelaunch/base/result.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/gpu/facts.h"
#include "worker/modes.h"

namespace {

using namespace safelaunch;
using namespace safelaunch::probe;

int usage() {
  std::fputs(
      "Usage: safelaunch-probe driver\n"
      "       safelaunch-probe gpus\n"
      "       safelaunch-probe nccl FILE\n"
      "       safelaunch-probe rank RANK RANKS DEVICE FILE [beside-job]\n\n"
      "Talks to the CUDA driver and to NCCL for safelaunch, in a process that may hang or crash.\n"
      "One JSON object a line; `safelaunch probe` makes a table of it.\n",
      stderr);
  return exit_code_of(Errc::usage);
}

std::optional<int> number(const std::string& word) {
  const auto value = to_number(word);
  return value && *value >= 0 ? value : std::nullopt;
}

int rank(const std::vector<std::string>& words) {
  const auto own = number(words[1]);
  const auto ranks = number(words[2]);
  const auto device = number(words[3]);
  const bool beside_job = words.size() == 6 && words[5] == "beside-job";
  if (!own || !ranks || !device || *own >= *ranks || (words.size() == 6 && !beside_job))
    return usage();
  probe_as_rank({*own, *ranks, *device, words[4], beside_job});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string mode = words.empty() ? "" : words[0];
  if (mode == "driver" && words.size() == 1) return show_driver();
  if (mode == "gpus" && words.size() == 1) return gpu::print_gpu_facts();
  if (mode == "nccl" && words.size() == 2) return show_nccl(words[1]);
  if (mode == "rank" && (words.size() == 5 || words.size() == 6)) return rank(words);
  return usage();
}
