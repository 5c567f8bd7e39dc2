#include "safelaunch/agree/decision.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "safelaunch/agree/board.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"

// Every field has one row in a table, for the writer and for the reader, so the two cannot come to
// differ. The first field that is missing or wrong ends the reading, since another version or a
// hostile peer may have written the text.
namespace safelaunch::agree {
namespace {

using Json = nlohmann::json;

constexpr std::array kOrderNames{"gather", "go", "stop", "end", "apart"};
constexpr std::array kPhaseNames{"joined", "ready", "going", "ended", "stopped", "leaving"};

template <class Enum>
constexpr const auto& names_of() {
  if constexpr (std::is_same_v<Enum, Order>)
    return kOrderNames;
  else
    return kPhaseNames;
}

void each_field(auto& decision, auto&& field) requires(
    std::is_same_v<std::remove_cvref_t<decltype(decision)>, Decision>) {
  field("order", decision.order);
  field("attempt", decision.attempt);
  field("gathered", decision.gathered);
  field("profile", decision.profile);
  field("workers", decision.workers);
  field("master_addr", decision.master_addr);
  field("master_port", decision.master_port);
  field("checkpoint", decision.checkpoint);
  field("interface", decision.interface);
  field("exit_code", decision.exit_code);
  field("signal", decision.signal);
  field("hurry", decision.hurry);
  field("why", decision.why);
  field("doors", decision.doors);
  field("watch", decision.watch);
  field("question", decision.question);
  field("note", decision.note);
  field("count", decision.count);
}

void each_field(auto& end, auto&& field) requires(
    std::is_same_v<std::remove_cvref_t<decltype(end)>, NodeEnd>) {
  field("attempt", end.attempt);
  field("exit_code", end.exit_code);
  field("diagnosis", end.diagnosis);
  field("killed", end.killed);
  field("trouble", end.trouble);
}

void each_field(auto& news, auto&& field) requires(
    std::is_same_v<std::remove_cvref_t<decltype(news)>, NodeNews>) {
  field("phase", news.phase);
  field("attempt", news.attempt);
  field("heard", news.heard);
  field("workers", news.workers);
  field("port", news.port);
  field("facts", news.facts);
  field("doors", news.doors);
  field("ways", news.ways);
  field("findings", news.findings);
  field("blocked", news.blocked);
  field("signal", news.signal);
  field("hurry", news.hurry);
  field("end", news.end);
  field("ranks", news.ranks);
  field("answered", news.answered);
  field("answers", news.answers);
  field("counts", news.counts);
}

struct Writes {
  Json& object;

  template <class Value>
  void operator()(const char* key, const Value& value) const {
    if constexpr (std::is_enum_v<Value>) {
      object[key] = names_of<Value>().at(static_cast<std::size_t>(value));
    } else if constexpr (std::is_same_v<Value, std::optional<NodeEnd>>) {
      if (!value) return;
      Json end = Json::object();
      each_field(*value, Writes{end});
      object[key] = std::move(end);
    } else {
      object[key] = value;
    }
  }
};

/// Reads the fields of one object. The first that is missing or wrong is kept in `wrong`.
struct Reads {
  const Json& object;
  std::string& wrong;

  void operator()(const char* key, auto& value) const {
    if (wrong.empty() && !read(key, value)) wrong = key;
  }

 private:
  bool read(const char* key, bool& value) const {
    value = is_true(object, key);
    return value || is_false(object, key);
  }
  template <class Number>
  requires std::is_integral_v<Number>
  bool read(const char* key, Number& value) const {
    const auto number = number_of<Number>(object, key);
    // No number of ours is below zero, and a hostile one would be an index somewhere.
    if (!number || std::cmp_less(*number, 0)) return false;
    value = *number;
    return true;
  }
  bool read(const char* key, std::string& value) const {
    auto text = text_if(object, key);
    if (!text) return false;
    value = *std::move(text);
    return true;
  }
  bool read(const char* key, std::vector<std::string>& value) const {
    auto texts = texts_if(object, key);
    if (!texts) return false;
    value = *std::move(texts);
    return true;
  }
  bool read(const char* key, std::vector<int>& value) const {
    const Json* list = array_if(object, key);
    if (list == nullptr) return false;
    value = numbers_of(object, key);
    const auto negative = [](int one) { return one < 0; };
    return value.size() == list->size() && std::none_of(value.begin(), value.end(), negative);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  bool read(const char* key, Enum& value) const {
    const auto& names = names_of<Enum>();
    const auto found = std::find(names.begin(), names.end(), text_of(object, key));
    value = static_cast<Enum>(found - names.begin());
    return found != names.end();
  }
  bool read(const char* key, std::optional<NodeEnd>& value) const {
    const Json* end = field_of(object, key);
    if (end == nullptr) return true;
    std::string within;
    each_field(value.emplace(), Reads{*end, within});
    return within.empty();
  }
};

template <class Value>
std::string written(const Value& value) {
  Json object = Json::object();
  each_field(value, Writes{object});
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class Value>
Result<Value> read_from(std::string_view text, const char* what) {
  const auto refuse = [&](const std::string& why) {
    return Error{Errc::peer_lost,
                 fmt::format("{} cannot be read: {}; every node needs the same version of "
                             "safelaunch",
                             what, why)};
  };
  if (text.size() > kLongestText) return refuse(fmt::format("it has {} bytes", text.size()));
  const Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return refuse("it is no JSON object");
  Value value;
  std::string wrong;
  each_field(value, Reads{object, wrong});
  if (!wrong.empty()) return refuse(fmt::format("its field '{}' is missing or wrong", wrong));
  return value;
}

}  // namespace

std::string to_text(const Decision& decision) {
  return written(decision);
}

std::string to_text(const NodeNews& news) {
  return written(news);
}

Result<Decision> decision_from(std::string_view text) {
  return read_from<Decision>(text, "the leader's word");
}

Result<NodeNews> news_from(std::string_view text) {
  return read_from<NodeNews>(text, "the news of a node");
}

}  // namespace safelaunch::agree
