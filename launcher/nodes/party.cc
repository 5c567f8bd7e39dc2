#include "safelaunch/nodes/party.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <utility>

#include "safelaunch/base/endpoint.h"
#include "safelaunch/base/random.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/network.h"
#include "safelaunch/nodes/own_doors.h"

// Each message of the board becomes an event of the machine; each action for the board is performed
// at once. Only the end waits: the run hears of it when the board knows that this node leaves.
namespace safelaunch::nodes {
namespace {

// Where it is not certain that there are other agents, the job must not wait long for them:
// torchrun's own rendezvous waits ten minutes for other nodes.
constexpr Duration kApartAfter = std::chrono::seconds(30);

// As torch's own question for MASTER_ADDR, which comes at once behind it.
constexpr Duration kNamesWithin{5'000};

std::string first_of(const std::vector<std::string>& addresses) {
  return addresses.empty() ? std::string() : addresses.front();
}

// A launcher's nodes may have no numbers (torchrun's c10d): the one whose address all are given is
// the first.
bool keeps_board(const plan::PartyPlan& party) {
  if (party.address.backend != agree::Address::Backend::tcp) return false;
  if (party.placement.node) return *party.placement.node == 0;
  const std::string name = endpoint_host(party.address.hosts.front());
  const std::string address =
      host::is_address(name) ? name : first_of(host::look_up(name, kNamesWithin).addresses);
  return host::is_loopback_address(address) ||
         host::route_to(address).kind == host::Route::Kind::local;
}

/// The addresses at which the others may reach this node: that of the ranks' master first, where it
/// is here.
std::vector<std::string> own_addresses(const plan::PartyPlan& party) {
  std::vector<std::string> addresses;
  const auto add = [&](const std::string& address) {
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(address);
  };
  const std::string& head = party.placement.head;
  if (host::is_loopback_address(head) || host::route_to(head).kind == host::Route::Kind::local)
    add(head);
  for (const Door& door : doors_to_open(host::network_interfaces(), {})) add(door.address);
  if (addresses.empty()) addresses = host::local_addresses();
  if (addresses.empty()) add("127.0.0.1");
  return addresses;
}

}  // namespace

agree::AgentConfig agent_of(const plan::PartyPlan& party) {
  agree::AgentConfig config;
  config.claim.incarnation = random_word(16);
  config.claim.seat = party.placement.node;
  if (!config.claim.seat && keeps_board(party)) config.claim.seat = 0;
  config.claim.seats = party.placement.nodes;
  config.claim.job = party.placement.job;
  config.claim.host = host::read_hostname();
  config.terms = party.terms;
  config.start_within = party.nodes_within;
  if (!party.certain) config.apart_after = kApartAfter;
  config.seed = random_number();
  return config;
}

agree::BoardConfig board_of(const plan::PartyPlan& party, const agree::Token& token,
                            const Environment& environment) {
  agree::BoardConfig board;
  board.address = party.address;
  board.terms = party.terms;
  board.token = token.secret;
  board.token_from = token.from;
  board.keeps_board = keeps_board(party);
  if (party.address.backend == agree::Address::Backend::file)
    board.own_addresses = own_addresses(party);
  const std::string state = user_folder(environment, "XDG_STATE_HOME", ".local/state");
  if (!state.empty()) board.memory_folder = state + "/safelaunch/boards";
  return board;
}

Result<std::unique_ptr<Party>> Party::open(boost::asio::io_context& io,
                                           const agree::BoardConfig& board,
                                           const agree::AgentConfig& agent, Listener& listener) {
  return open(
      io, [&](agree::Board::Listener& party) { return agree::open_board(io, board, party); }, agent,
      listener);
}

Result<std::unique_ptr<Party>> Party::open(boost::asio::io_context& io, const OpenBoard& open_board,
                                           const agree::AgentConfig& agent, Listener& listener) {
  std::unique_ptr<Party> party(new Party(io, agent, listener));
  Result<std::unique_ptr<agree::Board>> opened = open_board(*party);
  if (!opened) return opened.error();
  party->board_ = *std::move(opened);
  return party;
}

Party::Party(boost::asio::io_context& io, const agree::AgentConfig& agent, Listener& listener)
    : listener_(listener), machine_(agent), timer_(io) {}

void Party::take(const agree::AgentEvent& event) {
  for (const agree::AgentAction& action : machine_.on(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  set_timer();
}

void Party::set_timer() {
  const auto deadline = machine_.deadline();
  if (!deadline) return void(timer_.cancel());
  timer_.set(*deadline, [this] { take(agree::AgentTimePassed{}); });
}

void Party::hear(const agree::BoardEvent& event) {
  std::visit([this](const auto& one) { take(one); }, event);
}

void Party::perform(const agree::ClaimSeat& claim) {
  board_->claim(claim.claim);
}

void Party::perform(const agree::Publish& publish) {
  board_->publish(to_text(publish.news));
}

void Party::perform(const agree::Say& say) {
  board_->say(say.word);
}

// The last word of this node, and that it goes, must reach the others before the program ends.
void Party::perform(const agree::LeaveBoard&) {
  leaving_ = true;
  board_->leave([this] {
    leaving_ = false;
    if (end_) listener_.party_wants(*std::exchange(end_, std::nullopt));
  });
}

void Party::perform(const agree::EndHere& end) {
  end_ = end;
  if (!leaving_) listener_.party_wants(*std::exchange(end_, std::nullopt));
}

}  // namespace safelaunch::nodes
