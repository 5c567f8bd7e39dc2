#pragma once

#include <memory>

#include "attempt.h"
#include "attempt_record.h"
#include "other_nodes.h"
#include "run_machine.h"
#include "safelaunch/agree/token.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/nodes/door_keeper.h"
#include "safelaunch/nodes/door_visits.h"
#include "safelaunch/nodes/party.h"
#include "safelaunch/plan/plan.h"

namespace safelaunch::run {

/// The other nodes of a run, for the Run of this one: their agreements become events of the
/// RunMachine, their news of ranks goes to the attempt, and the events here are published.
class Nodes final : nodes::Party::Listener {
 public:
  class Listener {
   public:
    virtual void take(const RunEvent& event) = 0;
    /// The attempt that runs; nullptr: none does.
    virtual Attempt* attempt() = 0;
    /// The attempt is over on every node: `others` is what each has told of its end, `lost` names
    /// the nodes that are gone. To the leader alone.
    virtual void over_everywhere(const std::vector<OtherNode>& others,
                                 const std::vector<ranks::NodeName>& lost) = 0;
    /// The nodes have tried to reach each other. To the leader alone.
    virtual void ways_told(const report::record::Ways& ways) = 0;
    virtual void say(const std::string& line) = 0;
    /// Takes secrets out of what is told to other nodes.
    virtual std::string redact(std::string text) = 0;

   protected:
    ~Listener() = default;
  };

  /// Errors: the board cannot be reached at all, or kept here.
  [[nodiscard]] static Result<std::unique_ptr<Nodes>> open(boost::asio::io_context& io,
                                                           const plan::RunPlan& plan,
                                                           const agree::Token& token,
                                                           Listener& listener);

  [[nodiscard]] bool leads() const { return party_->leads(); }

  // The wishes of the RunMachine.
  void join() { party_->take(agree::Joins{}); }
  void take(const TellReady& ready);
  void propose(const ProposeAttempt& attempt, std::optional<int> port);
  void tell_not_started(int attempt, const Error& error);
  void take(const ProposeEnd& end) { party_->take(agree::EndWanted{end.exit_code, end.why}); }
  void take(const TellSignal& told) { party_->take(agree::SignalHere{told.signal}); }

  // The news of this node's attempt.
  void take(const ranks::TellPicture& picture);
  void take(const ranks::RanksWait& news);
  void take(const ranks::AskNodes&);
  void take(const ranks::AskCounts& ask);
  void take(const ranks::TellCounts& told);
  void take(const ranks::RanksAnswered& news);
  /// It is being stopped, and all others with it.
  void attempt_stops(const std::string& why);
  void attempt_over(int attempt, int exit_code, const AttemptRecord& record,
                    const diagnose::Evidence& evidence);

 private:
  Nodes(boost::asio::io_context& io, const plan::RunPlan& plan, Listener& listener)
      : io_(io), plan_(plan), listener_(listener), waits_for_ways_(io) {}

  void party_wants(const agree::AgentAction& action) override;
  void hear(const agree::StartHere& start);
  void hear(const agree::StopHere& stop);
  void hear(const agree::KillHere& kill);
  void hear(const agree::HoldLease& lease);
  void hear(const agree::AttendHere& attend);
  void hear(const agree::ReachOthers& reach);
  void hear(const agree::AllReady& ready);
  void hear(const agree::NodeTold& told);
  void hear(const agree::NodeSilent& silent);
  void hear(const agree::AttemptOverEverywhere& over);
  void hear(const agree::TellUser& tell) { listener_.say(tell.text); }
  void hear(const agree::GoApart& apart);
  void hear(const agree::EndHere& end);
  template <class AtTheBoard>
  void hear(const AtTheBoard&) {}  // Party performs those

  void release_lease();
  void publish() { party_->take(agree::NewsHere{news_}); }
  void take_ranks(const OtherNode& node);
  void take_answers(const OtherNode& node, int before);
  void take_counts(const OtherNode& node);
  void attend() { party_->take(agree::AttentionWanted{watching_, question_, {}, count_}); }
  void open_doors();
  void close_doors();
  [[nodiscard]] bool begin_mesh();
  void note_ways();
  void end_mesh();
  void tell_compared();
  [[nodiscard]] LeadersNode here() const;

  boost::asio::io_context& io_;
  const plan::RunPlan& plan_;
  Listener& listener_;
  std::unique_ptr<nodes::Party> party_;
  std::unique_ptr<nodes::DoorKeeper> doors_;  ///< keeps the doors open until the first attempt
  std::unique_ptr<nodes::DoorVisits> visits_;
  bool meshing_ = false;  ///< the leader waits for the ways of all
  Alarm waits_for_ways_;
  agree::NodeNews news_;  ///< the news of this node
  OtherNodes others_;
  TimePoint lease_until_{};   ///< the end of the lease, as the board has confirmed it last
  bool holds_lease_ = false;  ///< the lease is held: ranks run, or will at once
  int attempt_ = 0;           ///< the number of the attempt that runs, or ran last
  int question_ = 0;  ///< the number of our question to the others, or of the leader's to our ranks
  int count_ = 0;     ///< the number of our question to the others for counters, in this attempt
  bool watching_ = false;  ///< the others are to show us their ranks
};

}  // namespace safelaunch::run
