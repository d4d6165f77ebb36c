// Which commits the records of all workers reach, on the rank that decides about commits. Where workers
// finish different rounds, servers commit without them, and a job can start again only from a commit up to
// which every worker has written its records.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

class RecordConfirmations {
 public:
  /// `context`: must outlive it.
  RecordConfirmations(Context& context, std::span<const Rank> workers);

  /// All servers have written the commit of this round. Each worker replies when it has written its records.
  void ask(std::int64_t round);
  /// The last commit that the records of all workers reach; 0: none.
  std::int64_t hear();
  /// No worker sends anything more.
  void finish();

 private:
  struct Line {
    Rank worker;
    Pending reply;               ///< Stored
    std::int64_t confirmed = 0;  ///< the round of the last reply
  };

  Context& context_;
  std::vector<Line> lines_;
  std::vector<Pending> asked_;
};

}  // namespace tandem
