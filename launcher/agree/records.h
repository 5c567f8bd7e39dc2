#pragma once

#include <cstdint>

#include "safelaunch/agree/board.h"

/// The records of a board in etcd, as values and as bytes. Bytes that are
/// no such record, or one of another version, read as nothing.
namespace safelaunch::agree {

/// The terms on which all agents of a board agree.
struct BoardRecord {
  std::string id;  ///< the id of this board and no other, also of the same job
  std::string job;
  int seats = 0;
  Terms terms;
};

/// The last text that the holder of a seat has published.
struct NewsRecord {
  std::string incarnation;
  std::uint64_t version = 0;  ///< grows with each text
  std::string host;
  std::string text;
};

[[nodiscard]] std::string to_bytes(const BoardRecord& record);
[[nodiscard]] std::string to_bytes(const NewsRecord& record);
[[nodiscard]] std::optional<BoardRecord> board_record(std::string_view bytes);
[[nodiscard]] std::optional<NewsRecord> news_record(std::string_view bytes);

/// The board's difference from what an agent wants, in words: "it has 4 nodes, this agent is told
/// 3"; nullopt where there is none.
[[nodiscard]] std::optional<std::string> difference(const BoardRecord& board, const Claim& claim,
                                                    const Terms& terms);

/// Why the board unseats the holder of a seat that says a word out of turn: the board is at word
/// `number` of `generation`.
[[nodiscard]] std::string not_taken_in_words(const Word& word, int seat, std::uint64_t number,
                                             std::uint64_t generation);

/// An id of 128 random bits, in hexadecimal.
[[nodiscard]] std::string random_id();

/// The job's name where only letters, digits, '.', '_' and '-' may stand: with a digest behind it,
/// because two jobs must not get the same.
[[nodiscard]] std::string plain_job_name(std::string_view job);

}  // namespace safelaunch::agree
