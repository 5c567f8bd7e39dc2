#include "folder_names.h"

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "sealed.h"

namespace safelaunch::agree {
namespace {

constexpr std::string_view kNobody = "free";
constexpr std::string_view kLead = "lead";
constexpr std::string_view kGone = "gone";

/// Takes the next number off a name; false where there is none.
template <class Number>
bool take(std::string_view& rest, Number& number) {
  const auto value = to_number<Number>(take_word(rest, '.'));
  number = value.value_or(0);
  return value.has_value();
}

}  // namespace

std::string to_name(std::string_view key, const SeatName& seat) {
  return sealed_name(
      key, fmt::format("seat.{}.{}.{}.{}.{}", seat.seat, seat.turn,
                       seat.holder.empty() ? kNobody : seat.holder, seat.beat, seat.version));
}

std::string to_name(std::string_view key, const LeadName& lead) {
  return sealed_name(
      key, fmt::format("{}.{}.{}", lead.is_gone ? kGone : kLead, lead.generation, lead.beat));
}

std::string to_name(const WordName& word) {
  return fmt::format("word.{}.{}", word.generation, word.number);
}

std::string news_name(const SeatName& seat) {
  return fmt::format("news.{}.{}", seat.seat, seat.turn);
}

std::optional<SeatName> seat_name(std::string_view key, std::string_view name) {
  const auto bare = unsealed_name(key, name);
  std::string_view rest = bare.value_or("");
  SeatName seat;
  if (take_word(rest, '.') != "seat" || !take(rest, seat.seat) || !take(rest, seat.turn))
    return std::nullopt;
  seat.holder = take_word(rest, '.');
  if (seat.holder == kNobody) seat.holder.clear();
  if (!take(rest, seat.beat) || !take(rest, seat.version)) return std::nullopt;
  return seat;
}

std::optional<LeadName> lead_name(std::string_view key, std::string_view name) {
  const auto bare = unsealed_name(key, name);
  std::string_view rest = bare.value_or("");
  LeadName lead;
  const std::string_view kind = take_word(rest, '.');
  lead.is_gone = kind == kGone;
  if ((kind != kLead && kind != kGone) || !take(rest, lead.generation) || !take(rest, lead.beat))
    return std::nullopt;
  return lead;
}

std::optional<WordName> word_name(std::string_view name) {
  WordName word;
  if (take_word(name, '.') != "word" || !take(name, word.generation) || !take(name, word.number))
    return std::nullopt;
  return word;
}

}  // namespace safelaunch::agree
