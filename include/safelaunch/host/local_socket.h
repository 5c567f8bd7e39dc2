#pragma once

#include <sys/socket.h>

#include <optional>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

/// Sockets between processes of this host. A name is a path, or `@name` for the abstract namespace.
namespace safelaunch::host {

/// A socket that listens at the name; it does not block, and no child inherits it. `type` is
/// SOCK_STREAM or SOCK_SEQPACKET. The error (Errc::os) has the kernel's words alone.
[[nodiscard]] Result<UniqueFd> listen_locally(const std::string& name, int type);

/// A connection to whoever listens at the name; it blocks. Error: nobody does.
[[nodiscard]] Result<UniqueFd> connect_locally(const std::string& name, int type);

/// The process at the other end of a connection, as the kernel vouches for it: of one that listens,
/// the process that began to.
[[nodiscard]] std::optional<ucred> peer_of(int fd);

}  // namespace safelaunch::host
