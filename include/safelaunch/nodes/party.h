#pragma once

#include <functional>
#include <memory>

#include "safelaunch/agree/agent_machine.h"
#include "safelaunch/agree/board.h"
#include "safelaunch/agree/token.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/plan/plan.h"

namespace safelaunch::nodes {

/// The agent of this node as it joins, and the board on which it meets the others. Node 0 may be
/// known by its address alone; then the name is looked up, which may take seconds.
[[nodiscard]] agree::AgentConfig agent_of(const plan::PartyPlan& party);
[[nodiscard]] agree::BoardConfig board_of(const plan::PartyPlan& party, const agree::Token& token,
                                          const Environment& environment);

/// This node's place among the agents of one job: performs at the board what an AgentMachine
/// decides, and hands all else that it decides to the run. There is none where one node runs alone.
class Party final : agree::Board::Listener {
 public:
  class Listener {
   public:
    /// An action of the AgentMachine that is the run's business.
    virtual void party_wants(const agree::AgentAction& action) = 0;

   protected:
    ~Listener() = default;
  };

  /// Opens the board. Errors: it cannot be kept here, or its address is none.
  [[nodiscard]] static Result<std::unique_ptr<Party>> open(boost::asio::io_context& io,
                                                           const agree::BoardConfig& board,
                                                           const agree::AgentConfig& agent,
                                                           Listener& listener);
  /// As above, at a board of another make, which `open_board` opens for its listener.
  using OpenBoard = std::function<Result<std::unique_ptr<agree::Board>>(agree::Board::Listener&)>;
  [[nodiscard]] static Result<std::unique_ptr<Party>> open(boost::asio::io_context& io,
                                                           const OpenBoard& open_board,
                                                           const agree::AgentConfig& agent,
                                                           Listener& listener);

  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  /// Something has happened on this node.
  void take(const agree::AgentEvent& event);

  [[nodiscard]] bool leads() const { return machine_.leads(); }
  [[nodiscard]] std::optional<int> seat() const { return machine_.seat(); }

 private:
  Party(boost::asio::io_context& io, const agree::AgentConfig& agent, Listener& listener);

  void hear(const agree::BoardEvent& event) override;

  void perform(const agree::ClaimSeat& claim);
  void perform(const agree::Publish& publish);
  void perform(const agree::Say& say);
  void perform(const agree::LeaveBoard& leave);
  void perform(const agree::EndHere& end);
  template <class Other>
  void perform(const Other& action) {
    listener_.party_wants(action);
  }
  void set_timer();

  Listener& listener_;
  agree::AgentMachine machine_;
  Alarm timer_;
  std::unique_ptr<agree::Board> board_;
  bool leaving_ = false;
  /// The end of the run, which waits until the board knows that this node leaves.
  std::optional<agree::EndHere> end_;
};

}  // namespace safelaunch::nodes
