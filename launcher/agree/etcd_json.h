#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "safelaunch/base/result.h"

/// The questions to etcd's HTTP gateway and its answers, as values.
namespace safelaunch::agree::etcd {

/// Base64 (RFC 4648), in which etcd's JSON carries keys and values.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// nullopt: it is none.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

/// A key as the server has it. A key that is removed and put again has a new `created`.
struct Key {
  std::string name;
  std::string value{};
  std::uint64_t created = 0;  ///< the revision that created it
  std::uint64_t changed = 0;  ///< the revision that changed it last
  std::uint64_t lease = 0;
};

struct Range {
  std::vector<Key> keys{};
  /// The number of all keys in the range, those that are left out included.
  std::uint64_t count = 0;
};

struct TxnAnswer {
  bool succeeded = false;
  std::uint64_t revision = 0;
  std::vector<Range> ranges{};  ///< one for each range that was asked for, in their order
};

/// A transaction: actions that are done in one step where all conditions hold.
class Txn {
 public:
  static constexpr std::string_view kPath = "/v3/kv/txn";

  Txn();
  Txn(Txn&&) noexcept;
  Txn& operator=(Txn&&) noexcept;
  ~Txn();

  // The conditions. 0: there is no such key.
  Txn& if_created(std::string_view key, std::uint64_t revision);
  Txn& if_changed(std::string_view key, std::uint64_t revision);
  Txn& if_none_under(std::string_view prefix);
  // The actions.
  Txn& get(std::string_view key, std::uint64_t changed_since = 0);
  Txn& get_under(std::string_view prefix, std::uint64_t changed_since = 0);
  Txn& put(std::string_view key, std::string_view value, std::uint64_t lease);
  Txn& remove(std::string_view key);
  Txn& remove_under(std::string_view prefix);
  /// Asked for where a condition does not hold.
  Txn& else_get(std::string_view key);

  [[nodiscard]] std::string text() const;

 private:
  struct Json;
  std::unique_ptr<Json> json_;
};

[[nodiscard]] Result<TxnAnswer> txn_answer(std::string_view text);

inline constexpr std::string_view kGrantPath = "/v3/lease/grant";
inline constexpr std::string_view kKeepAlivePath = "/v3/lease/keepalive";
inline constexpr std::string_view kRevokePath = "/v3/lease/revoke";
inline constexpr std::string_view kTimeToLivePath = "/v3/lease/timetolive";

[[nodiscard]] std::string grant_text(std::uint64_t seconds);
/// For kKeepAlivePath, kRevokePath and kTimeToLivePath.
[[nodiscard]] std::string lease_text(std::uint64_t lease);

struct Lease {
  std::uint64_t id = 0;
  std::int64_t seconds_left = 0;  ///< 0 or less: there is no such lease any more
};
/// The answer of any of the paths but kRevokePath.
[[nodiscard]] Result<Lease> lease_answer(std::string_view text);

}  // namespace safelaunch::agree::etcd
