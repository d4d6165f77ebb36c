// The messages by which the ranks of a commit say that their parts are stored. On the rank that decides,
// what it knows of the commit in progress.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/checkpoint/commit_group.hpp"
#include "workloads/checkpoint/commit_line.hpp"
#include "workloads/checkpoint/commit_protocol.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class StoredParts {
 public:
  /// The arguments must outlive it.
  StoredParts(Context& context, const CommitGroup& group, const WaitForRank& wait);

  /// This rank's part is stored, or could not be. Notifies the rank that decides, if the commit needs the
  /// part.
  void note(const protocol::Stored& part, Bytes size);
  void finish();

  // On the rank that decides:

  /// The commit after `round` begins, of the present group.
  void open(std::int64_t round, Seconds started);
  /// The commit does not count, whatever is stored.
  void fail() { tally_.fail(); }
  /// Handles the messages that have arrived. `waits`: waits for the others. Meanwhile the view may end, and
  /// with it the commit.
  void collect(bool waits);
  bool has_all_answers() const { return tally_.has_all_answers(); }
  /// Ends the commit. Pre: has_all_answers().
  CommitTally::Result close();
  /// Another view of the members begins, and all messages of the last one have ended. True: a commit was in
  /// progress, which is not complete.
  bool give_up();

 private:
  /// Messages of another rank about its part of the commit in progress.
  struct Line {
    Rank rank;
    Pending next;  ///< Stored
  };
  bool take(Line& line, const Completion& stored);

  Context& context_;
  const CommitGroup& group_;
  const WaitForRank& wait_;
  CommitTally tally_;
  std::vector<Line> lines_;
  Pending sent_;  ///< the last Stored
};

}  // namespace tandem
