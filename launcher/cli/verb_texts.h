#pragma once

#include "safelaunch/clean/removal.h"
#include "safelaunch/doctor/advice_text.h"
#include "safelaunch/report/status.h"
#include "safelaunch/trial/scene.h"
#include "verb_wishes.h"

/// The texts that verbs show, made of values.
namespace safelaunch::cli {

/// A job that runs now.
struct RunningRun {
  report::RunLine line;
  report::RunStatus status;
};

/// The screen of `status`. Where nothing runs it tells how the last run ended, if there was one.
[[nodiscard]] std::string render_running(std::span<const RunningRun> runs,
                                         const std::optional<report::RunLine>& last);

/// The list of `clean`, a line each, and the same as JSON.
[[nodiscard]] std::string render_removals(std::span<const clean::Removal> lines);
[[nodiscard]] std::string removals_json(std::span<const clean::Removal> lines);

/// The answer of `doctor`, without secrets: what was looked at, the findings, what was mended.
[[nodiscard]] std::string doctor_text(const DoctorWords& words, const doctor::HostFacts& facts,
                                      std::span<const doctor::Advice> advices,
                                      const doctor::FixReport& fixed);

/// Whether a finding forbids a run.
[[nodiscard]] bool is_blocked(std::span<const doctor::Advice> advices);

/// "3.11.2 (/venv/bin/python), torch 2.13.0, NCCL 2.29.7": the Python that `test` tries.
[[nodiscard]] std::string versions_in_words(const trial::Survey& python,
                                            const gpu::JobLibraries& libraries);

/// Why --html writes no page over a file that is no page of safelaunch's.
[[nodiscard]] Error no_page(const std::string& file);

/// The versions that a support bundle tells: safelaunch's, the frameworks' and the libraries'.
[[nodiscard]] std::string versions_text(const doctor::HostFacts& facts);

}  // namespace safelaunch::cli
