#include "safelaunch/agree/agent_machine.h"

#include <utility>

#include "agent.h"

namespace safelaunch::agree {

AgentMachine::AgentMachine(AgentConfig config)
    : agent_(std::make_unique<Agent>(std::move(config))) {}
AgentMachine::AgentMachine(AgentMachine&&) noexcept = default;
AgentMachine& AgentMachine::operator=(AgentMachine&&) noexcept = default;
AgentMachine::~AgentMachine() = default;

std::vector<AgentAction> AgentMachine::on(const AgentEvent& event, TimePoint now) {
  return agent_->on(event, now);
}

std::optional<TimePoint> AgentMachine::deadline() const {
  return agent_->deadline();
}

bool AgentMachine::leads() const {
  return agent_->leads();
}

std::optional<int> AgentMachine::seat() const {
  return agent_->seat();
}

}  // namespace safelaunch::agree
