// The messages about commits between the rank that decides and the others: which rounds the job commits,
// some rounds in advance; which commits are complete; and up to which commit workers have written their
// records. CommitKnowledge has what this rank knows from them.
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

/// Waits for a message of another rank; none: another view of the members has begun.
using WaitForRank = std::function<std::optional<Completion>(Pending& until)>;

class CommitLine {
 public:
  /// The arguments must outlive it.
  CommitLine(Context& context, const CommitGroup& group, const WaitForRank& wait);

  /// The job, or another view of its members, computes from this round on. The group is the present one. The
  /// messages of an earlier rank that decided have ended.
  void begin(std::int64_t round);
  CommitKnowledge& knowledge() { return knowledge_; }
  const CommitKnowledge& knowledge() const { return knowledge_; }
  /// Takes what has arrived.
  void take_arrived();
  /// No more rounds follow. What arrives later is ignored.
  void end_listening();
  void finish();

  // On the other ranks:

  /// Waits until this rank knows whether the job commits after this round. Another view may begin meanwhile;
  /// its decider knows nothing of this round.
  void await(std::int64_t round);
  /// Commits count when this worker has written its records.
  bool awaits_records() const { return group_.confirms_records() && listens(); }
  /// The last complete commit for which this worker has not written its records; 0: none.
  std::int64_t unrecorded();
  /// This worker has written its records up to the commit of this round.
  void send_recorded(std::int64_t round);
  /// This worker has ended, and has written all its records.
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
  void take(const Completion& message);
  void expect_records();
  void take_records();
  void notify(const protocol::NoteOf<"commits">& note, std::span<const Rank> ranks);

  Context& context_;
  const CommitGroup& group_;
  const WaitForRank& wait_;
  CommitKnowledge knowledge_;
  /// Receives of Planned and Complete from that rank. There are several, because a message is known to have
  /// arrived only if it meets a receive.
  std::vector<Pending> listening_;
  std::vector<Rank> listeners_;
  std::vector<Pending> sent_;
  Pending replied_;  ///< the last Stored, to the rank that decides
  RecordTally tally_;
  std::vector<Records> records_;
  std::int64_t complete_ = 0;  ///< the last commit of which all parts are stored
};

}  // namespace tandem
