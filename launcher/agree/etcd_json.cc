#include "etcd_json.h"

#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"

// The gateway writes numbers as texts, leaves out what is zero, and wraps a stream's messages.
// So a field that is missing or wrong reads as zero or nothing; only an answer without a header
// is no answer of etcd's.
namespace safelaunch::agree::etcd {
namespace {

using nlohmann::json;

constexpr std::string_view kSixBits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::uint8_t, 256> values_of_digits() {
  std::array<std::uint8_t, 256> values{};
  values.fill(64);  // no digit
  for (std::size_t i = 0; i < kSixBits.size(); ++i)
    values[static_cast<unsigned char>(kSixBits[i])] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = values_of_digits();

/// The first key behind all that begin with `prefix`.
std::string end_of(std::string_view prefix) {
  std::string end(prefix);
  ++end.back();  // our prefixes end with '/'
  return end;
}

/// A number, which the gateway writes as a text. One that is left out is 0.
template <class Number>
Number number_at(const json& object, const char* key) {
  const auto text = text_if(object, key);
  return text ? to_number<Number>(*text).value_or(0)
              : number_of<Number>(object, key).value_or(Number{0});
}

json range(std::string_view key, const std::string& end, std::uint64_t changed_since) {
  json fields{{"key", to_base64(key)}};
  if (!end.empty()) fields["range_end"] = to_base64(end);
  if (changed_since > 0) fields["min_mod_revision"] = std::to_string(changed_since);
  return {{"request_range", fields}};
}

Range range_from(const json& answer) {
  Range range;
  range.count = number_at<std::uint64_t>(answer, "count");
  for (const json& one : array_of(answer, "kvs")) {
    auto name = from_base64(text_of(one, "key"));
    auto value = from_base64(text_of(one, "value"));
    if (!name || !value) continue;
    range.keys.push_back(
        {std::move(*name), std::move(*value), number_at<std::uint64_t>(one, "create_revision"),
         number_at<std::uint64_t>(one, "mod_revision"), number_at<std::uint64_t>(one, "lease")});
  }
  return range;
}

Error no_answer(std::string_view text) {
  return Error{Errc::peer_lost, fmt::format("etcd sent an answer that is not the expected JSON: {}",
                                            cut(text, 200))};
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t offset) -> std::uint32_t {
      return i + offset < bytes.size() ? static_cast<unsigned char>(bytes[i + offset]) : 0U;
    };
    const std::uint32_t three = at(0) << 16U | at(1) << 8U | at(2);
    text += kSixBits[three >> 18U];
    text += kSixBits[three >> 12U & 63U];
    text += i + 1 < bytes.size() ? kSixBits[three >> 6U & 63U] : '=';
    text += i + 2 < bytes.size() ? kSixBits[three & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(digit)];
    if (value == 64) return std::nullopt;
    bits = bits << 6U | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xffU);
  }
  return bytes;
}

struct Txn::Json {
  json compare = json::array();
  json success = json::array();
  json failure = json::array();
};

Txn::Txn() : json_(std::make_unique<Json>()) {}
Txn::Txn(Txn&&) noexcept = default;
Txn& Txn::operator=(Txn&&) noexcept = default;
Txn::~Txn() = default;

Txn& Txn::if_created(std::string_view key, std::uint64_t revision) {
  json_->compare.push_back({{"key", to_base64(key)},
                            {"target", "CREATE"},
                            {"result", "EQUAL"},
                            {"create_revision", std::to_string(revision)}});
  return *this;
}

Txn& Txn::if_changed(std::string_view key, std::uint64_t revision) {
  json_->compare.push_back({{"key", to_base64(key)},
                            {"target", "MOD"},
                            {"result", "EQUAL"},
                            {"mod_revision", std::to_string(revision)}});
  return *this;
}

// It holds for every key of the range, and no key has this revision.
Txn& Txn::if_none_under(std::string_view prefix) {
  if_created(prefix, 0);
  json_->compare.back()["range_end"] = to_base64(end_of(prefix));
  return *this;
}

Txn& Txn::get(std::string_view key, std::uint64_t changed_since) {
  json_->success.push_back(range(key, {}, changed_since));
  return *this;
}

Txn& Txn::get_under(std::string_view prefix, std::uint64_t changed_since) {
  json_->success.push_back(range(prefix, end_of(prefix), changed_since));
  return *this;
}

Txn& Txn::put(std::string_view key, std::string_view value, std::uint64_t lease) {
  json_->success.push_back(
      {{"request_put",
        {{"key", to_base64(key)}, {"value", to_base64(value)}, {"lease", std::to_string(lease)}}}});
  return *this;
}

Txn& Txn::remove(std::string_view key) {
  json_->success.push_back({{"request_delete_range", {{"key", to_base64(key)}}}});
  return *this;
}

Txn& Txn::remove_under(std::string_view prefix) {
  json_->success.push_back(
      {{"request_delete_range",
        {{"key", to_base64(prefix)}, {"range_end", to_base64(end_of(prefix))}}}});
  return *this;
}

Txn& Txn::else_get(std::string_view key) {
  json_->failure.push_back(range(key, {}, 0));
  return *this;
}

std::string Txn::text() const {
  return json{{"compare", json_->compare}, {"success", json_->success}, {"failure", json_->failure}}
      .dump();
}

Result<TxnAnswer> txn_answer(std::string_view text) {
  const json answer = parse_json<json>(text);
  const json& header = object_of(answer, "header");
  if (header.empty()) return no_answer(text);
  TxnAnswer read;
  read.succeeded = is_true(answer, "succeeded");
  read.revision = number_at<std::uint64_t>(header, "revision");
  for (const json& one : array_of(answer, "responses"))
    if (field_of(one, "response_range") != nullptr)
      read.ranges.push_back(range_from(object_of(one, "response_range")));
  return read;
}

std::string grant_text(std::uint64_t seconds) {
  return json{{"TTL", std::to_string(seconds)}}.dump();
}

std::string lease_text(std::uint64_t lease) {
  return json{{"ID", std::to_string(lease)}}.dump();
}

Result<Lease> lease_answer(std::string_view text) {
  const json parsed = parse_json<json>(text);
  // The keep-alive is a stream, and wraps its messages.
  const json& result = object_of(parsed, "result");
  const json& answer = result.empty() ? parsed : result;
  if (object_of(answer, "header").empty()) return no_answer(text);
  return Lease{number_at<std::uint64_t>(answer, "ID"), number_at<std::int64_t>(answer, "TTL")};
}

}  // namespace safelaunch::agree::etcd
