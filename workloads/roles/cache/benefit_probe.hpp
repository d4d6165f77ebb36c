// Measures the benefit of the cache for a job that shares it: the time of its workers' steps while their
// batches come from the cache, and then while they bypass it. A probe begins with the second epoch, when the
// cache is full, and again when other jobs begin or end. Pure: the cache node passes the events and their
// times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

class BenefitProbe {
 public:
  enum class Phase : std::uint8_t { none, with, without };
  /// In which phase of which probe a batch was requested.
  struct Tag {
    Phase phase = Phase::none;
    std::int64_t probe = 0;  ///< its number
  };
  /// The change before the job's next batch.
  enum class Change : std::uint8_t { none, bypasses, returns };
  /// Intervals between batches of a worker, in seconds.
  struct Intervals {
    std::int64_t count = 0;
    Seconds sum{0};
    Seconds mean() const { return sum / static_cast<double>(count); }
  };
  struct Result {
    Intervals with, without;
    /// (t without - t with) / t without, at least 0.
    double benefit() const;
  };

  /// `workers`: of the job at the node. `steps`: steps of each worker that are measured in each phase.
  /// `first`: steps before them that are not measured, because their batches were requested in the phase
  /// before.
  BenefitProbe(std::size_t workers, std::int64_t steps, std::int64_t first);

  void begin_epoch();
  /// Other jobs have begun or ended.
  Change begin_again();
  /// The job asks for a batch.
  Change begin_batch();
  /// The tag of that batch.
  Tag tag() const { return {phase_, number_}; }
  /// A batch of a worker was sent. Returns the result with the last batch of a probe. None: the result is
  /// not known yet, or no two batches of a phase were in one epoch.
  std::optional<Result> note_sent(std::size_t worker, const Tag& tag, std::int64_t epoch, Seconds now);

 private:
  struct Last {
    Phase phase = Phase::none;
    std::int64_t batches = 0;  ///< of that phase
    std::int64_t epoch = 0;
    Seconds sent{0};
  };
  std::int64_t batches_of_phase() const {
    return (first_ + steps_ + 1) * static_cast<std::int64_t>(workers_.size());
  }

  std::int64_t steps_, first_;
  std::vector<Last> workers_;
  int epochs_until_ = 2;  ///< a probe begins; 0: none follows
  Phase phase_ = Phase::none;
  std::int64_t number_ = 0;
  std::int64_t begun_ = 0, sent_ = 0;  ///< batches of the probe
  Result result_;
};

}  // namespace tandem
