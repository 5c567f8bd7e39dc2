#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"

/// Files that a job makes for the time of its life, and that a killed one leaves behind: segments
/// in /dev/shm, and the locks of extensions that torch builds.
namespace safelaunch::host {

/// A file as it was when we looked at it. Device and inode distinguish it from a later file of its
/// name.
struct LeftFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  unsigned uid = 0;
  std::int64_t written = 0;  ///< the time of the last write, in seconds since 1970
  /// The time of birth in nanoseconds since 1970; where the file system does not keep it, the time
  /// of the last change.
  std::int64_t made = 0;
  Duration age{};  ///< the time since `made`
  /// The file's folder, held open: by now its path may lead elsewhere.
  std::shared_ptr<const UniqueFd> folder;
  unsigned folder_uid = 0;
  bool operator==(const LeftFile&) const = default;
};

/// A file system in memory and what is in it.
struct SharedMemory {
  std::string path;
  std::uint64_t bytes = 0;      ///< its size
  std::uint64_t available = 0;  ///< the bytes that we may still take
  std::vector<LeftFile> files;
  bool operator==(const SharedMemory&) const = default;
};

/// The plain file at a path; nullopt for everything else, a link to one included, and where a link
/// of another user leads to its folder.
[[nodiscard]] std::optional<LeftFile> file_at(const std::string& path);

/// /dev/shm, or the folder that a test made. `files` are the plain files at its top.
[[nodiscard]] SharedMemory read_shared_memory(const std::string& path = "/dev/shm");

/// The maker of segments with such a name.
enum class SegmentMaker {
  unknown,
  one_job,  ///< NCCL, torch, DeepSpeed: the processes of one job make and open it
  /// Multiprocessing's shared memory and semaphores: every process that knows the name may open it.
  python,
  server,  ///< vLLM, SGLang: the names have no fixed form, so a user's own file may look the same
};

/// Judges by the whole name, not by its beginning: people keep files of their own in /dev/shm.
[[nodiscard]] SegmentMaker maker_of(std::string_view path);

/// The segments in /dev/shm whose name has a known maker. They are some thousands at most:
/// everybody may write to that folder, and others may have made a million.
[[nodiscard]] std::vector<LeftFile> named_segments();

/// Those segments that a process has mapped now, and that still have their name.
[[nodiscard]] std::vector<LeftFile> mapped_segments(int pid);

/// The folder in which torch builds extensions: TORCH_EXTENSIONS_DIR, else one below XDG_CACHE_HOME
/// or HOME; empty where none of them is set.
[[nodiscard]] std::string extensions_folder(const Environment& environment);

/// The files named "lock" of the extensions below it. A build holds its lock as long as it runs.
[[nodiscard]] std::vector<LeftFile> extension_locks(const std::string& folder);

/// Whether any process has a file open or mapped.
enum class Holder {
  nobody,
  somebody,
  untold,  ///< it is another user's file, or the file system or kernel does not tell
};

/// Whether the file still has its name in its folder, and was not written since. The error says in
/// a few words what became of it.
[[nodiscard]] Result<void> still_the_same(const LeftFile& file);

/// Takes the file out of its folder. False, with errno, where that cannot be done.
[[nodiscard]] bool remove_from_folder(const LeftFile& file);

/// Asks the kernel, which knows the processes of all users and containers: it grants the lease of a
/// file only where nobody else has the file open or mapped. A process that opens the file in the
/// same moment waits for microseconds. Files on a network are not asked for, since their server may
/// be gone.
[[nodiscard]] Holder holder_of(const LeftFile& file);

/// The process to which the kernel has given the lock of a file (flock). nullopt where there is
/// none, or where another container's has it.
[[nodiscard]] std::optional<int> locked_by(const LeftFile& file);

/// The signs that files are not left over.
struct FileUse {
  /// The paths of files that are open or mapped, or beside which a process works.
  std::vector<std::string> used;
  std::vector<std::string> untold;  ///< the paths of which the kernel does not tell
  Duration oldest_python{};         ///< the age of our user's oldest Python process
  /// A compiler of our user's that runs: "cc1plus (pid 1932)"; empty if none.
  std::string compiler;
  int unreadable = 0;  ///< our user's processes into which we could not look
};

/// Asks for the holders of the files. Where a file has none, looks at all processes that we may
/// read for those that may come back to it: Python, compilers, and processes in a lock's folder. It
/// costs some 5 µs a process.
[[nodiscard]] FileUse use_of(const std::vector<LeftFile>& files);

// The proof that a segment in /dev/shm belongs to a run: the run has written down the segments
// that its processes had made and mapped. A name and a user prove nothing, since containers share
// /dev/shm and are all root.

/// The file in a run directory that holds the segments, one a line.
inline constexpr const char* kSegmentRecordFile = "segments";

/// A segment that a run's processes had mapped while they ran.
struct SegmentRecord {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t made = 0;  ///< LeftFile::made
  std::string run;        ///< the run's id
  /// The life of the run's safelaunch; hidden, too, where that is in another container.
  Life owner = Life::hidden;
};

/// Whether the record is about this very file, and not about another one of its name.
[[nodiscard]] bool is_of(const SegmentRecord& record, const LeftFile& file);

/// The lines for such segments; `mark` is the mark of the run (identity.h).
[[nodiscard]] std::string segment_lines(std::span<const LeftFile> segments, std::string_view mark);

/// Reads the lines again. Lines of another boot and torn lines are left out.
[[nodiscard]] std::vector<SegmentRecord> parse_segment_lines(std::string_view text,
                                                             const std::string& run,
                                                             const HostIdentity& host);

/// The records of all runs that are kept in these places. Reads our user's files only.
[[nodiscard]] std::vector<SegmentRecord> read_segment_records(
    std::span<const std::filesystem::path> places, const HostIdentity& host);

}  // namespace safelaunch::host
