#pragma once

#include <string>
#include <vector>

#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/diagnose/failure_words.h"
#include "test_data.h"

/// Attempts as they went wrong, in short.
namespace safelaunch::testing {

using namespace std::chrono_literals;
using With = diagnose::RetrySame::With;

inline diagnose::Diagnosis diagnosed(const diagnose::Evidence& evidence) {
  return diagnose::diagnose(evidence, diagnose::Catalogue::builtin());
}

inline int status(const diagnose::Evidence& evidence) {
  return diagnose::exit_status_of(evidence, diagnosed(evidence));
}

inline bool falls_back(const diagnose::Diagnosis& diagnosis) {
  return diagnosis.decision == diagnose::Decision(diagnose::FallBack{});
}

inline bool stops(const diagnose::Diagnosis& diagnosis, diagnose::StopReason reason) {
  return diagnosis.decision == diagnose::Decision(diagnose::Stop{reason});
}

/// A job under a launcher without a hook: its output is all there is, and surely the launcher's.
inline diagnose::Evidence only_text(std::string text) {
  diagnose::Evidence evidence;
  evidence.command = Exited{1};
  evidence.told = diagnose::reported_exit(text);
  evidence.output = {{"stderr", std::nullopt, std::move(text)}};
  return evidence;
}

inline diagnose::Evidence of_file(const std::string& name) {
  return only_text(data("launchers/" + name + ".txt"));
}

/// As the hook tells it: exceptions of torch's own, and of gloo, come from communication.
inline RankRaised raised(int rank, std::string type, std::string message) {
  const bool communication =
      type.starts_with("torch.distributed.Dist") || message.find("gloo/") != std::string::npos;
  return {Rank{rank}, {}, std::move(type), std::move(message), "", communication};
}

inline diagnose::Evidence with_exceptions(std::vector<RankRaised> exceptions) {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.stage = Stage::group;
  evidence.failure.raised = std::move(exceptions);
  return evidence;
}

inline diagnose::Evidence hang(Stage stage, std::vector<MissingRank> missing) {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::hung;
  evidence.failure.stage = stage;
  evidence.failure.waited = 180s;
  evidence.failure.waiting = {Rank{0}, Rank{1}, Rank{3}};
  evidence.failure.missing = std::move(missing);
  return evidence;
}

inline diagnose::Evidence port_taken(diagnose::RendezvousPort::Choice choice) {
  diagnose::Evidence evidence = of_file("python-port-taken");
  evidence.port = diagnose::RendezvousPort{29741, choice};
  return evidence;
}

inline const std::string kPeerLost =
    "[gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:39613: Connection reset by peer. "
    "GLHF!";

}  // namespace safelaunch::testing
