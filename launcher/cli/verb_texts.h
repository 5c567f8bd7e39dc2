#pragma once

#include "safelaunch/clean/removal.h"
#include "safelaunch/doctor/advice_text.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/layers.h"
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

/// A setting that holds here.
struct ShownSetting {
  std::string key;  ///< "chain", "env.NCCL_DEBUG", "options.grace", "cluster"
  std::string value;
  std::string origin;  ///< "/etc/safelaunch/safelaunch.yaml:3:8", "SAFELAUNCH_GRACE"
  bool locked = false;
};

/// All settings that files and SAFELAUNCH_* variables give here, without secrets. The layers tell
/// which file takes a variable away.
[[nodiscard]] std::vector<ShownSetting> settings_shown(const plan::Configuration& configuration,
                                                       std::span<const profile::ConfigLayer> layers,
                                                       const redact::Redactor& redactor);

/// The answer of `config show`, and the same as JSON; `files` are those that hold.
[[nodiscard]] std::string render_settings(std::span<const ShownSetting> settings);
[[nodiscard]] std::string settings_json(std::span<const ShownSetting> settings,
                                        std::span<const profile::ConfigLayer> layers);

/// The answer of `config path`, and the same as JSON.
[[nodiscard]] std::string render_places(std::span<const profile::ConfigLayer> layers);
[[nodiscard]] std::string places_json(std::span<const profile::ConfigLayer> layers);

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
