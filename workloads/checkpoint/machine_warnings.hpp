// Warnings of machines that will be taken away: this rank's own, and on the rank that decides about commits
// those of the other ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

class MachineWarnings {
 public:
  struct Warning {
    Rank rank;        ///< whose machine will be taken away
    Seconds departs;  ///< since the ranks began, all at the same time
  };

  /// The arguments must outlive it.
  MachineWarnings(const Job& job, Context& context, Journal& journal);

  /// This rank decides about commits: it receives the warnings of the others from now on.
  void listen();
  /// The notices of this process since the last call, and what the others have sent.
  std::vector<Warning> take();
  /// Notifies the rank that decides of a warning of this rank.
  void send(const Warning& warning);
  /// No further warnings are received.
  void finish();

 private:
  /// The open messages about warnings with another rank.
  struct Line {
    Rank rank;
    Pending next;
  };
  void take_drawn(std::vector<Warning>& found);
  void record();

  const Job& job_;
  Context& context_;
  Journal& journal_;
  std::vector<Line> lines_;
  std::size_t drawn_ = 0;  ///< number of Generation::warnings whose time has come
  Pending sent_;           ///< the last Warned
};

}  // namespace tandem
