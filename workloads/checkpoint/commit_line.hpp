// The messages about commits between the rank that decides and the others: which rounds the job commits, so
// many rounds ahead, which commits are complete, and up to which one workers have written their records.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/checkpoint/commit_protocol.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class CommitLine {
 public:
  /// `ahead`: rounds between a decision that is sent and its round; 0: none are sent. `knowledge` gets what
  /// arrives. The arguments must outlive it.
  CommitLine(Context& context, CommitKnowledge& knowledge, int ahead)
      : context_(context), knowledge_(knowledge), ahead_(ahead) {}

  // On the other ranks:

  /// Listens to this rank from now on. What an earlier rank has sent has ended.
  void listen(Rank decider);
  bool listens() const { return !listening_.empty(); }
  /// It is not known yet whether the job commits after this round: next() has to be awaited and taken.
  bool is_needed(std::int64_t round) const { return ahead_ > 0 && listens() && !knowledge_.knows(round); }
  Pending& next() { return listening_.front(); }
  void take(const Completion& heard);
  /// This worker has written its records up to the commit of this round.
  void send_recorded(std::int64_t round);

  // On the rank that decides:

  /// These ranks listen from now on. What an earlier rank has sent to this one has ended.
  /// `view`: protocol::Stored.
  void lead(std::vector<Rank> listeners, std::int32_t view);
  /// The records of these workers count. They listen, too.
  void expect_records(std::span<const Rank> workers);
  void send(const protocol::Planned& planned);
  /// All parts of this commit are stored.
  void send_complete(std::int64_t round);
  void send_failed(std::int64_t round);

  /// Takes what has arrived.
  void hear();
  /// No more rounds follow. What arrives later is ignored.
  void end_listening();
  void finish();

 private:
  struct Records {
    Rank worker;
    Pending next;  ///< Stored
  };

  void post();
  void hear_records();
  void tell(const protocol::NoteOf<"commits">& note, std::span<const Rank> ranks);

  Context& context_;
  CommitKnowledge& knowledge_;
  int ahead_;
  Rank decider_ = 0;
  /// Of Planned and Complete, from that rank. Several, since only a message that meets a receive is known to
  /// have arrived.
  std::vector<Pending> listening_;
  std::vector<Rank> listeners_;
  std::int32_t view_ = 0;
  std::vector<Pending> told_;
  Pending replied_;  ///< the last Stored, to the rank that decides
  RecordTally tally_;
  std::vector<Records> records_;
  std::int64_t complete_ = 0;  ///< the last commit of which all parts are stored
};

}  // namespace tandem
