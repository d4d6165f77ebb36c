// The notes by which a server stops the steps of its workers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/context.hpp"
#include "workloads/roles/server/open_sends.hpp"

namespace tandem {

class StepCancels {
 public:
  /// `is_used`: the policy may stop steps, and the workers listen to this server; otherwise nothing is sent.
  /// `context` must outlive it.
  StepCancels(Context& context, std::span<const Rank> workers, bool is_used);

  /// Stops the worker's steps on its model, which has this version, unless the worker was notified already.
  void cancel(int worker, int version);
  /// The worker is gone. Another one may come to its slot.
  void forget(int worker);
  /// Waits until all notes have been sent.
  void finish();

 private:
  struct Line {
    Rank rank;
    int version = -1;  ///< on which its steps were stopped last
    OpenSends sends;
  };
  Line& line(int worker) { return lines_.at(static_cast<std::size_t>(worker)); }

  Context& context_;
  std::vector<Line> lines_;  ///< by worker; empty where it is not used
};

}  // namespace tandem
