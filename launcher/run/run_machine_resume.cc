#include "run_machine.h"
#include "safelaunch/base/format.h"
#include "safelaunch/plan/resume.h"

// How training that has failed starts again: from a checkpoint of the job's own, or as it was
// started first. On several nodes the one that leads decides, and the others go on from the
// checkpoint that it names.
namespace safelaunch::run {
namespace {

/// What a client of NFS knows of a folder is a minute old at most (acdirmax, nfs(5)).
constexpr Duration kOthersSeeFilesWithin = std::chrono::minutes(1);

}  // namespace

// No profile of the chain heals what fails in training; the job's own checkpoint may, or the same
// settings another time.
plan::NextStep RunMachine::step_again(const AttemptRecord& record, plan::NextStep otherwise) {
  const auto& resume = resume_of_profile();
  const bool used_up = plan_.options.max_attempts && attempts_ >= *plan_.options.max_attempts;
  const bool wanted = resume || profile_.retry;
  const bool able = !plan_.others_start_ranks() || agrees_;  // other nodes follow what is agreed
  if (wanted && used_up) otherwise.why = plan::describe_used_up(attempts_);
  if (wanted && plan_.options.only) otherwise.why = plan::kOnlyOnce;
  if (!wanted || !able || used_up || plan_.options.only) return otherwise;
  plan::NextStep step =
      resume ? step_from_checkpoint(record, *resume) : plan::retry_step(profile_, retries_);
  if (!step.profile) return step;
  ++resumed_;
  if (!resume) ++retries_;
  return step;
}

plan::NextStep RunMachine::step_from_checkpoint(const AttemptRecord& record,
                                                const profile::Resume& resume) {
  const plan::FailedTraining training{record.failed_for,
                                      shelf_.checkpoints_of(plan::pattern_of(resume)), starts_,
                                      agrees_ ? kOthersSeeFilesWithin : Duration::zero()};
  plan::NextStep step = plan::resume_step(profile_, resume, training);
  if (!step.profile) return step;
  starts_ = plan::has_new_checkpoint(training) ? 1 : *starts_ + 1;
  resume_ = resume;
  checkpoint_ = step.checkpoint;
  return step;
}

const std::optional<profile::Resume>& RunMachine::resume_of_profile() const {
  return profile_.resume ? profile_.resume : resume_;
}

// On every node: any of them may lead when the attempt has failed.
profile::Profile RunMachine::profile_to_start() {
  const auto& resume = resume_of_profile();
  if (!resume) return profile_;
  shelf_.note_checkpoints(plan::pattern_of(*resume));
  return checkpoint_.empty() ? profile_ : plan::resumed(profile_, *resume);
}

// The leader has found it; a script that finds it on some nodes alone would train something else
// there. A leader that has come anew begins with none, and so do all.
Result<void> RunMachine::go_on_from(const std::string& checkpoint) {
  checkpoint_ = checkpoint;
  if (checkpoint.empty()) return {};
  resume_ = resume_of_profile();
  if (!resume_)
    return Error{Errc::bad_config,
                 fmt::format("the nodes agreed to go on from {}, but profile {} of this node does "
                             "not say how (resume): copy its file here",
                             checkpoint, profile_.name)};
  if (!starts_) starts_ = 1;
  const std::optional<bool> is_here = shelf_.has_checkpoint(checkpoint);
  if (!is_here.value_or(false))
    return Error{
        Errc::bad_config,
        fmt::format("the nodes agreed to go on from {}, but {}: the checkpoints must lie "
                    "on a disk that all nodes see",
                    checkpoint, is_here ? "it is not here" : "this node's disk does not answer")};
  return {};
}

}  // namespace safelaunch::run
