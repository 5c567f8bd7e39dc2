#include "safelaunch/profile/backends.h"

#include <algorithm>
#include <array>
#include <vector>

#include "safelaunch/base/strings.h"

// The names are those that torch and its plugins register: torch_npu, torch_musa, torch_mlu,
// oneccl_bindings_for_pytorch; RCCL is torch's nccl on ROCm.
namespace safelaunch::profile {
namespace {

constexpr std::array kLibraries{
    CommunicationLibrary{"nccl", "NCCL_", "NCCL", true},
    CommunicationLibrary{"nccl2", "", "NCCL", true},
    CommunicationLibrary{"nccl-legacy", "", "NCCL", true},
    CommunicationLibrary{"", "RCCL_", "RCCL (AMD), which reads those of NCCL too", true},
    CommunicationLibrary{"ucc", "UCC_", "UCC", true},
    CommunicationLibrary{"", "UCX_", "UCX, the transport below UCC and MPI"},
    CommunicationLibrary{"gloo", "GLOO_", "gloo"},
    CommunicationLibrary{"mpi", "OMPI_", "Open MPI"},
    CommunicationLibrary{"hccl", "HCCL_", "HCCL (Huawei Ascend)"},
    CommunicationLibrary{"xccl", "CCL_", "oneCCL (Intel)"},
    CommunicationLibrary{"ccl", "CCL_", "oneCCL (Intel)"},
    CommunicationLibrary{"mccl", "MCCL_", "MCCL (Moore Threads)"},
    CommunicationLibrary{"cncl", "CNCL_", "CNCL (Cambricon)"},
};

// "cpu:gloo,cuda:nccl" → gloo, nccl.
std::vector<std::string_view> parts_of(std::string_view backend) {
  std::vector<std::string_view> parts;
  while (!backend.empty()) {
    const std::string_view one = take_word(backend, ',');
    parts.push_back(one.substr(one.find(':') + 1));
  }
  return parts;
}

}  // namespace

std::optional<CommunicationLibrary> library_of_variable(std::string_view variable) {
  for (const CommunicationLibrary& one : kLibraries)
    if (!one.prefix.empty() && variable.starts_with(one.prefix)) return one;
  return std::nullopt;
}

bool backend_may_use_nccl(std::string_view backend) {
  const std::vector<std::string_view> parts = parts_of(backend);
  return parts.empty() || std::ranges::any_of(parts, [](std::string_view part) {
           const auto* known = std::ranges::find(kLibraries, part, &CommunicationLibrary::backend);
           return known == kLibraries.end() || known->over_nccl;
         });
}

bool backend_names_nccl(std::string_view backend) {
  return std::ranges::any_of(parts_of(backend),
                             [](std::string_view part) { return part.starts_with("nccl"); });
}

}  // namespace safelaunch::profile
