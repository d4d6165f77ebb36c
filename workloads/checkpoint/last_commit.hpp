// The last complete commit of a job, where ranks cannot see that by its files: the rank that decides about
// commits tells the others. Where workers finish different rounds, servers commit without them, and the job
// can start again only from a commit up to which every worker has written its records; until all have said
// so, the commit before is the last complete one.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

class LastCommit {
 public:
  /// `context`: must outlive it.
  explicit LastCommit(Context& context) : context_(context) {}

  /// Its round, as far as this rank knows; 0: there is none.
  std::int64_t round() const { return round_; }
  /// The job starts again from it.
  void begin_at(std::int64_t round) { round_ = announced_ = recorded_ = round; }
  /// Takes what has arrived.
  void hear();
  /// Commits that have failed, as far as this rank knows, since the last call. Takes what has arrived.
  std::vector<std::int64_t> take_failed() {
    hear();
    return std::exchange(failed_, {});
  }
  /// Ends all receives; what arrives later is ignored.
  void end_listening();
  void finish();

  // On the rank that decides:

  /// These ranks listen from now on. What an earlier rank has sent to this one has ended.
  void set_listeners(std::vector<Rank> ranks);
  /// The records of these workers count. They listen, too.
  void wait_for_records(std::span<const Rank> workers);
  /// All parts of the commit of this round are written.
  void set(std::int64_t round);
  /// Not all of them could be.
  void set_failed(std::int64_t round);

  // On the others:

  /// Listens to this rank from now on. What an earlier rank has sent has ended.
  void listen(Rank decider);
  bool listens() const { return !next_.empty(); }
  /// The last commit for which this worker has not yet written its records; 0: none.
  std::int64_t unrecorded();
  /// This worker has written its records up to that commit.
  void note_recorded(std::int64_t round);
  /// This worker has ended and written all its records.
  void note_all_recorded();

 private:
  /// On the rank that decides, from a worker whose records count.
  struct Line {
    Rank worker;
    Pending reply;              ///< Stored
    std::int64_t recorded = 0;  ///< the round of the last reply
  };

  void hear_workers();
  void tell(const protocol::Complete& commit, const std::vector<Rank>& ranks);

  Context& context_;
  std::int64_t round_ = 0;
  std::int64_t announced_ = 0;  ///< the last commit of which all parts are written
  std::vector<std::int64_t> failed_;
  std::vector<Rank> listeners_;
  std::vector<Pending> told_;  ///< Complete
  std::vector<Line> lines_;
  Rank decider_ = 0;
  Pending next_;     ///< Complete, from that rank
  Pending replied_;  ///< the last Stored, to it
  std::int64_t recorded_ = 0;
};

}  // namespace tandem
