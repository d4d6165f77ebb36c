// The messages about commits between the rank that decides and the others: which rounds the job commits, so
// many rounds ahead, which commits are complete, and up to which one workers have written their records. What
// this rank has learnt from them is its CommitKnowledge.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "workloads/checkpoint/commit_group.hpp"
#include "workloads/checkpoint/commit_protocol.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

/// Waits for a message of another rank; none: another view of the members has begun meanwhile.
using WaitForRank = std::function<std::optional<Completion>(Pending& until)>;

class CommitLine {
 public:
  /// The arguments must outlive it.
  CommitLine(Context& context, const CommitGroup& group, const WaitForRank& wait);

  /// The job, or another view of its members, computes from this round on, and the group is that of now. What
  /// an earlier rank that decided has sent has ended.
  void begin(std::int64_t round);
  CommitKnowledge& knowledge() { return knowledge_; }
  const CommitKnowledge& knowledge() const { return knowledge_; }
  /// Takes what has arrived.
  void hear();
  /// No more rounds follow. What arrives later is ignored.
  void end_listening();
  void finish();

  // On the other ranks:

  /// Learns whether the job commits after this round. Meanwhile another view may begin, whose decider knows
  /// nothing of this round.
  void await(std::int64_t round);
  /// Commits count when this worker has written its records.
  bool awaits_records() const { return group_.confirms_records() && listens(); }
  /// The last complete commit for which it has not yet; 0: none.
  std::int64_t unrecorded();
  /// It has written its records up to the commit of this round.
  void send_recorded(std::int64_t round);
  /// It has ended, and has written all.
  void send_all_recorded();

  // On the rank that decides:

  void send(const protocol::Planned& planned);
  /// All parts of this commit are stored.
  void send_complete(std::int64_t round);
  void send_failed(std::int64_t round);

 private:
  struct Records {
    Rank worker;
    Pending next;  ///< Stored
  };

  bool listens() const { return !listening_.empty(); }
  void post();
  void take(const Completion& heard);
  void expect_records();
  void hear_records();
  void tell(const protocol::NoteOf<"commits">& note, std::span<const Rank> ranks);

  Context& context_;
  const CommitGroup& group_;
  const WaitForRank& wait_;
  CommitKnowledge knowledge_;
  /// Of Planned and Complete, from that rank. Several, since only a message that meets a receive is known to
  /// have arrived.
  std::vector<Pending> listening_;
  std::vector<Rank> listeners_;
  std::vector<Pending> told_;
  Pending replied_;  ///< the last Stored, to the rank that decides
  RecordTally tally_;
  std::vector<Records> records_;
  std::int64_t complete_ = 0;  ///< the last commit of which all parts are stored
};

}  // namespace tandem
