// Assembles the messages of workers into pushes. Pure: the caller reports arrived messages, and gets the
// next message of the worker for which to wait.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

/// Workers push one key after the other. All pieces of a key but the last one are awaited together. The last
/// piece brings the note, which may overtake them.
class PushInbox {
 public:
  PushInbox(std::vector<ShardKey> keys, std::size_t workers) : keys_(std::move(keys)), lines_(workers) {}

  const std::vector<ShardKey>& keys() const { return keys_; }
  /// The index of the worker's next push, and its pieces.
  std::size_t key(int worker) const { return at(worker).key; }
  const ShardKey& expected(int worker) const { return keys_[key(worker)]; }
  std::size_t last_key() const { return keys_.size() - 1; }
  bool is_last_key(std::size_t key) const { return key == last_key(); }

  /// The push lacks this piece.
  struct AwaitPiece {
    std::size_t piece;
    bool operator==(const AwaitPiece&) const = default;
  };
  /// All of the push has arrived.
  struct Complete {
    protocol::Push push;
  };
  using Action = std::variant<AwaitPiece, Complete>;

  /// The note of a push has arrived.
  Action on_note(int worker, const protocol::Push& push);
  /// The piece of AwaitPiece has arrived.
  Action on_piece(int worker);
  bool lacks_piece(int worker) const { return at(worker).push.has_value(); }
  /// The server answers a complete push, and expects the next key. Returns the key that it answers.
  std::size_t begin_answer(int worker);
  /// The worker is gone. `last`: the note of the awaited message, if that has arrived. `is_whole`: the
  /// pieces have arrived, too. Returns the push, if it is complete.
  std::optional<protocol::Push> on_gone(int worker, const std::optional<Note>& last, bool is_whole);

 private:
  struct Line {
    std::size_t key = 0;
    std::optional<protocol::Push> push = {};  ///< a push that lacks a piece
    std::size_t next_piece = 0;               ///< of that push, not awaited yet
  };
  Line& at(int worker) { return lines_.at(static_cast<std::size_t>(worker)); }
  const Line& at(int worker) const { return lines_.at(static_cast<std::size_t>(worker)); }

  std::vector<ShardKey> keys_;
  std::vector<Line> lines_;  ///< by worker
};

}  // namespace tandem
