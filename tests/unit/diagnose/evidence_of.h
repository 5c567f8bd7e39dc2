#pragma once

#include <string>
#include <vector>

#include "safelaunch/diagnose/diagnosis.h"
#include "test_data.h"

/// Attempts as they went wrong, in short.
namespace safelaunch::testing {

using namespace std::chrono_literals;
using With = RetrySame::With;

inline Diagnosis diagnosed(const Evidence& evidence) {
  return diagnose(evidence, Catalogue::builtin());
}

inline int status(const Evidence& evidence) {
  return exit_status_of(evidence, diagnosed(evidence));
}

inline bool falls_back(const Diagnosis& diagnosis) {
  return diagnosis.decision == Decision(FallBack{});
}

inline bool stops(const Diagnosis& diagnosis, StopReason reason) {
  return diagnosis.decision == Decision(Stop{reason});
}

/// A job under a launcher without a hook: its output is all there is.
inline Evidence only_text(std::string text) {
  Evidence evidence;
  evidence.command = Exited{1};
  evidence.output = {{"stderr", std::nullopt, std::move(text)}};
  return evidence;
}

inline Evidence of_file(const std::string& name) {
  return only_text(data("launchers/" + name + ".txt"));
}

inline RankRaised raised(int rank, std::string type, std::string message) {
  return {Rank{rank}, {}, std::move(type), std::move(message), ""};
}

inline Evidence with_exceptions(std::vector<RankRaised> exceptions) {
  Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.stage = Stage::group;
  evidence.failure.raised = std::move(exceptions);
  return evidence;
}

inline Evidence hang(Stage stage, std::vector<MissingRank> missing) {
  Evidence evidence;
  evidence.failure.kind = FailureKind::hung;
  evidence.failure.stage = stage;
  evidence.failure.waited = 180s;
  evidence.failure.waiting = {Rank{0}, Rank{1}, Rank{3}};
  evidence.failure.missing = std::move(missing);
  return evidence;
}

inline Evidence port_taken(RendezvousPort::Choice choice) {
  Evidence evidence = of_file("python-port-taken");
  evidence.port = RendezvousPort{29741, choice};
  return evidence;
}

inline const std::string kPeerLost =
    "[gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:39613: Connection reset by peer. "
    "GLHF!";

}  // namespace safelaunch::testing
