// A rank's part of a commit as it travels between machines (checkpoint.to buddy): the contents of its files
// in two pieces. The first piece is as large as the part's vectors (commit_size), which a simulation with
// modelled mathematics knows. The second piece has the rest of the files (numbers, texts, names), in whole
// blocks. So a commit takes the same time with real and with modelled mathematics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// The rounds of which a rank keeps its parts of commits. The last complete commit is the oldest of them.
/// Later commits that failed are not kept.
struct KeptRounds {
  std::int64_t oldest = 0;
  std::int64_t since = 0;  ///< the next round after it; all later ones are kept
  bool has(std::int64_t round) const { return round == oldest || round >= since; }
};

class CommitPart {
 public:
  /// The part of this rank, which has one in commits. `job` must outlive it.
  CommitPart(const Job& job, Rank rank);
  /// The part of a rank of an earlier generation; this generation may have fewer ranks. Pre: `part` is a
  /// worker or decides.
  CommitPart(const Job& job, RankAssignment part);

  Bytes size() const { return size_; }

  /// Whether the memory of that host has the files of the commit after `round`. False for a job that writes
  /// none.
  bool is_in(const std::string& host, std::int64_t round) const;
  /// Loads their contents from there. For a job that writes none, there is nothing to load, and the messages
  /// have the sizes that they would have. Errors: WorldError.
  void load(const std::string& host, std::int64_t round);
  /// Writes them into the memory of that host, the model last: states without a model are no commit. Each
  /// file is written atomically. Errors: WorldError.
  void store(const std::string& host, std::int64_t round) const;
  /// Copies the files that the memory or disk of that host lacks, from any other one that has them. Errors:
  /// WorldError.
  void bring_to(const std::string& host, std::int64_t round) const;
  /// Removes the files of all rounds but these from the memory of that host.
  void remove_others(const std::string& host, const KeptRounds& kept) const;

  /// Size of the second piece.
  int blocks() const { return blocks_; }
  /// Makes room to receive a part whose second piece has `blocks` blocks.
  void make_room(int blocks);
  /// The pieces, for a message or to receive one. Valid until the next change.
  Slice vectors();
  Slice rest();
  /// Frees the memory.
  void clear() { bytes_ = {}; }

 private:
  std::vector<std::string> paths(const std::string& host, std::int64_t round) const;
  void resize(std::size_t used);

  const Job& job_;
  RankAssignment part_;
  bool has_model_;
  Bytes size_;
  std::size_t in_vectors_;  ///< bytes in the first piece
  int blocks_ = 1;
  std::vector<std::byte> bytes_;  ///< empty: no files
};

}  // namespace tandem
