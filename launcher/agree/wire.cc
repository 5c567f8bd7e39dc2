#include "wire.h"

#include <cstddef>
#include <utility>

#include "codec.h"

// A message is its kind in one byte and then its fields. Bytes with an unknown kind, a value out of
// its range or a rest behind the fields are refused as a whole, since their sender is of another
// version.
namespace safelaunch::agree::wire {
namespace {

// fields(message, pass) hands the fields of a message to `pass` in their order, to be written or to
// be read. So the two cannot come to differ.
void fields(ClaimsSeat& message, auto& pass) {
  pass(message.claim.incarnation), pass(message.claim.seat), pass(message.claim.seats);
  pass(message.claim.host);
  pass(message.terms.lease), pass(message.terms.renew_every), pass(message.terms.kill_margin);
}
void fields(Renews& message, auto& pass) {
  pass(message.number);
}
void fields(Publishes& message, auto& pass) {
  pass(message.text);
}
void fields(Says& message, auto& pass) {
  pass(message.word.generation), pass(message.word.number), pass(message.word.text);
}
void fields(Leaves& /*message*/, auto& /*pass*/) {}

void fields(Seated& message, auto& pass) {
  pass(message.seat.number), pass(message.seat.generation);
}
void fields(Parked& message, auto& pass) {
  pass(message.why);
}
void fields(Confirms& message, auto& pass) {
  pass(message.number), pass(message.holds);
}
void fields(WordCame& message, auto& pass) {
  pass(message.word.generation), pass(message.word.number), pass(message.word.text);
}
void fields(StandingCame& message, auto& pass) {
  pass(message.standing.seat), pass(message.standing.incarnation), pass(message.standing.host);
  pass(message.standing.text);
}
void fields(SeatVacated& message, auto& pass) {
  pass(message.seat);
}
void fields(Unseated& message, auto& pass) {
  pass(message.why);
}
void fields(Refused& message, auto& pass) {
  pass(message.error.code), pass(message.error.message);
}
void fields(LetsGo& /*message*/, auto& /*pass*/) {}

struct Puts {
  Writer writer{};
  void operator()(const std::string& value) { writer.text(value); }
  void operator()(std::uint64_t value) { writer.number(value); }
  void operator()(int value) { writer.number(value); }
  void operator()(bool value) { writer.number(value ? 1 : 0); }
  void operator()(Errc value) { writer.number(static_cast<int>(value)); }
  void operator()(Duration value) { writer.number(std::int64_t{value.count()}); }
  void operator()(std::optional<int> value) { writer.number(value.value_or(-1)); }
};

struct Gets {
  Reader reader;
  bool sane = true;
  void operator()(std::string& value) { value = reader.text(); }
  void operator()(std::uint64_t& value) { value = reader.number<std::uint64_t>(); }
  void operator()(int& value) { value = reader.number<int>(); }
  void operator()(bool& value) {
    const int number = reader.number<int>();
    sane = sane && (number == 0 || number == 1);
    value = number == 1;
  }
  void operator()(Errc& value) {
    const int code = reader.number<int>();
    sane = sane && code >= 0 && code <= static_cast<int>(Errc::os);
    value = static_cast<Errc>(code);
  }
  void operator()(Duration& value) { value = Duration(reader.number<std::int64_t>()); }
  void operator()(std::optional<int>& value) {
    const int seat = reader.number<int>();
    value = seat < 0 ? std::nullopt : std::optional(seat);
  }
};

template <class Message>
std::string to_bytes(const Message& message) {
  Puts puts;
  puts.writer.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](auto one) { fields(one, puts); }, message);
  return puts.writer.take();
}

template <class Message, std::size_t... kind>
Result<Message> from_bytes(std::string_view bytes, std::index_sequence<kind...> /*kinds*/) {
  Gets gets{Reader(bytes)};
  const std::size_t index = gets.reader.template number<std::uint8_t>();
  Message message;
  const bool known = ((index == kind ? (message.template emplace<kind>(), true) : false) || ...);
  if (known) std::visit([&](auto& one) { fields(one, gets); }, message);
  if (known && gets.sane && gets.reader.whole()) return message;
  return Error{Errc::peer_lost,
               "it sends a message that this version of safelaunch does not understand"};
}

}  // namespace

std::string bytes_of(const FromAgent& message) {
  return to_bytes(message);
}

std::string bytes_of(const FromBoard& message) {
  return to_bytes(message);
}

Result<FromAgent> agent_message(std::string_view bytes) {
  return from_bytes<FromAgent>(bytes, std::make_index_sequence<std::variant_size_v<FromAgent>>());
}

Result<FromBoard> board_message(std::string_view bytes) {
  return from_bytes<FromBoard>(bytes, std::make_index_sequence<std::variant_size_v<FromBoard>>());
}

}  // namespace safelaunch::agree::wire
