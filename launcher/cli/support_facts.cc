#include "support_facts.h"

#include "safelaunch/base/format.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/doctor/render.h"
#include "safelaunch/gpu/reader.h"
#include "safelaunch/launch/find_program.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/report/bundle.h"
#include "safelaunch/report/run_directory.h"

namespace safelaunch::cli {
namespace {

std::string lines_of(const char* what, const std::vector<gpu::FoundLibrary>& libraries) {
  std::string text;
  for (const gpu::FoundLibrary& library : libraries)
    text += fmt::format("{} {} {} ({})\n", what, library.version, library.path,
                        describe(library.origin));
  return text;
}

std::string versions(const doctor::HostFacts& facts) {
  std::string text = "safelaunch " SAFELAUNCH_VERSION "\n";
  for (const doctor::Package& package : facts.packages)
    text += fmt::format("{} {}\n", package.name, package.version);
  if (!facts.libraries) return text;
  const gpu::JobLibraries& libraries = *facts.libraries;
  text += fmt::format("python {}\n", libraries.python.interpreter);
  if (!libraries.torch_version.empty())
    text += fmt::format("torch {} for CUDA {}{}\n", libraries.torch_version, libraries.torch_cuda,
                        libraries.nccl_inside_torch ? ", NCCL inside" : "");
  return text + lines_of("libnccl", libraries.nccl) + lines_of("libcuda", libraries.driver) +
         lines_of("libnvidia-ml", libraries.nvml);
}

// The driver's answers as our probe program tells them: line by line, up to where it hangs.
std::string gpus(const Environment& environment) {
  const Result<std::string> program = launch::find_probe_program(environment);
  if (!program) return program.error().message + "\n";
  const Result<launch::HelperOutput> told =
      launch::run_helper({{*program, "gpus"}, environment, gpu::kGpuDeadline});
  if (!told) return told.error().message + "\n";
  std::string text;
  for (const std::string& line : told->lines) text += line + "\n";
  return text + describe(told->end) + "\n";
}

}  // namespace

std::vector<report::RecordedFile> support_facts(std::vector<std::string> command) {
  const Environment environment = current_environment();
  doctor::Subject subject;
  subject.environment = environment;
  subject.runs = report::places_of_runs(environment);
  if (!command.empty()) subject.command = job::recognise(std::move(command), environment);
  const doctor::HostFacts host = doctor::read_facts(std::move(subject), doctor::Depth::full);
  std::vector<report::RecordedFile> facts = report::system_facts(environment);
  const auto add = [&](const char* name, std::string text) {
    const std::size_t size = text.size();
    facts.push_back({name, std::move(text), size, 0});
  };
  add("system/versions", versions(host));
  add("system/doctor", doctor::render_advices(doctor::examine(host), doctor::Paint::off));
  add("system/gpus", gpus(environment));
  return facts;
}

}  // namespace safelaunch::cli
