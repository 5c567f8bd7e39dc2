#pragma once

#include <string>

namespace safelaunch::agree::testing {

/// A real etcd of this process's own, on loopback, with a data folder of its own. It is started
/// where it is first asked for, and ends with the process.
class PrivateEtcd {
 public:
  static PrivateEtcd& instance();

  /// Why there is none; empty: there is one.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// "127.0.0.1:PORT"
  [[nodiscard]] const std::string& address() const { return address_; }
  /// The names of all keys that begin so.
  [[nodiscard]] std::string keys_under(const std::string& prefix) const;

  PrivateEtcd(const PrivateEtcd&) = delete;
  PrivateEtcd& operator=(const PrivateEtcd&) = delete;

 private:
  PrivateEtcd();
  ~PrivateEtcd();
  [[nodiscard]] bool start();

  std::string folder_;
  std::string address_;
  std::string why_not_;
  int pid_ = -1;
};

}  // namespace safelaunch::agree::testing
