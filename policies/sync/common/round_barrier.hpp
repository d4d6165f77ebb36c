// The barrier of all synchronous servers: which workers take part, and which have pushed in this round. The
// cost of a push does not depend on the number of workers; only the end of a round visits the workers that
// pushed.
//
// A round does not wait for a worker that has left; its push of that round still counts, unless it is
// dropped. If a worker joins with the current model before the first push of a round, that round waits for
// it; otherwise the next round is the first that does. Until then its push counts if it is of the current
// model, and is dropped if it is of an older one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "policies/sync/common/push_server.hpp"
#include "policies/sync/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem::sync {

/// `Flags`: true or false for each worker.
template <class Flags>
class BasicBarrier {
 public:
  /// Opens when the pushes of all workers for which the round waits have arrived.
  explicit BasicBarrier(int workers) : BasicBarrier(workers, std::numeric_limits<std::int64_t>::max()) {}
  /// Opens when `quorum` pushes have arrived, or those of all workers for which the round waits.
  BasicBarrier(int workers, std::int64_t quorum)
      : active_(static_cast<std::size_t>(workers), true),
        expected_(static_cast<std::size_t>(workers), true),
        arrived_(static_cast<std::size_t>(workers), false),
        active_count_(workers),
        missing_(workers),
        quorum_(quorum) {}

  void arrive(int worker) {
    TANDEM_CHECK(index(worker) < arrived_.size() && !arrived_[index(worker)],
                 "second push of a round by worker", worker);
    TANDEM_CHECK(is_active(worker), "a push by a worker that has left", worker);
    arrived_[index(worker)] = true;
    arrivals_.push_back(worker);
    if (expects(worker)) --missing_;
  }
  /// Returns whether its push of this round was dropped.
  bool leave(int worker, bool drops = false) {
    if (!is_active(worker)) return false;
    const bool has_arrived = arrived_[index(worker)];
    if (has_arrived) {
      arrived_[index(worker)] = false;
      std::erase(arrivals_, worker);
      if (!drops) ++pushes_of_departed_;
    } else if (expects(worker)) {
      --missing_;
    }
    active_[index(worker)] = false;
    expected_[index(worker)] = false;
    std::erase(newcomers_, worker);
    --active_count_;
    return has_arrived && drops;
  }
  bool leave(const Left& event, ServerDecisions& decisions) {
    const bool is_dropped = leave(event.worker, event.drops);
    if (is_dropped) decisions.emplace_back(Discard{event.worker});
    return is_dropped;
  }
  /// `version`: of the model that the worker has.
  void join(int worker, int version) {
    TANDEM_CHECK(index(worker) < active_.size() && !is_active(worker), "joins, but has not left: worker",
                 worker);
    active_[index(worker)] = true;
    ++active_count_;
    newcomers_.push_back(worker);
    if (!is_late(version)) expect_if_early(worker);
  }

  bool is_active(int worker) const { return active_[index(worker)]; }
  /// The round waits for this worker, or has waited for it.
  bool expects(int worker) const { return expected_[index(worker)]; }
  std::int64_t active_count() const { return active_count_; }
  /// The next round waits for some workers for which this round does not wait.
  bool has_newcomers() const { return !newcomers_.empty(); }
  /// A model of this version is older than that of the round.
  bool is_late(int version) const { return version < version_; }
  /// The version of the model that ends this round.
  int next_version() const { return version_ + 1; }
  /// Drops a push that is late, or of a cancelled step; its worker continues from the current model.
  void drop_late(const Push& event, ServerDecisions& decisions) {
    drop(event, decisions);
    if (is_active(event.worker) && !expects(event.worker)) expect_if_early(event.worker);
  }
  /// At least one push has arrived; and the quorum, or all pushes for which the round waits.
  bool complete() const { return pushes() > 0 && (pushes() >= quorum_ || missing_ == 0); }
  /// Ends the round: one update, then the new model for every waiting worker, in worker order.
  void release(ServerDecisions& decisions) {
    decisions.emplace_back(Apply{});
    ++version_;
    release_without_update(decisions);
  }
  /// Ends a round in which nothing was accepted: all waiting workers continue from the model that they have.
  void release_without_update(ServerDecisions& decisions) {
    std::sort(arrivals_.begin(), arrivals_.end());
    for (const int worker : arrivals_) {
      decisions.emplace_back(Reply{worker});
      arrived_[index(worker)] = false;
    }
    for (const int worker : newcomers_) expected_[index(worker)] = true;
    arrivals_.clear();
    newcomers_.clear();
    pushes_of_departed_ = 0;
    missing_ = active_count_;
  }

  /// Errors: ConfigError for a state that is impossible for a barrier.
  void serialise(PolicyState& state) {
    state.flags("active", active_);
    state.flags("expected", expected_);
    state.flags("arrived", arrived_);
    state.value("pushes_of_departed", pushes_of_departed_);
    state.value("version", version_);
    if (state.restores()) restore_lists();
  }

 private:
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }
  std::int64_t pushes() const { return std::ssize(arrivals_) + pushes_of_departed_; }
  void expect_if_early(int worker) {
    if (pushes() > 0) return;
    expected_[index(worker)] = true;
    std::erase(newcomers_, worker);
    ++missing_;
  }
  void restore_lists() {
    active_count_ = std::count(active_.begin(), active_.end(), true);
    missing_ = 0;
    arrivals_.clear();
    newcomers_.clear();
    bool possible = pushes_of_departed_ >= 0;
    for (std::size_t worker = 0; worker < active_.size(); ++worker) {
      possible = possible && (active_[worker] || !(expected_[worker] || arrived_[worker]));
      if (arrived_[worker]) arrivals_.push_back(static_cast<int>(worker));
      if (expected_[worker] && !arrived_[worker]) ++missing_;
      if (active_[worker] && !expected_[worker]) newcomers_.push_back(static_cast<int>(worker));
    }
    if (!possible) throw ConfigError("policy state: expected a round of workers that are 'active'");
  }

  Flags active_;
  Flags expected_;              ///< the round waits for it, or has waited for it
  Flags arrived_;               ///< it has pushed in this round, and is active
  std::vector<int> arrivals_;   ///< the workers that have arrived
  std::vector<int> newcomers_;  ///< active, but not expected
  std::int64_t pushes_of_departed_ = 0;
  std::int64_t active_count_;
  std::int64_t missing_;  ///< expected workers that have not arrived
  std::int64_t quorum_;
  int version_ = 0;  ///< of the model: the number of rounds that have ended
};

using Barrier = BasicBarrier<std::vector<bool>>;

}  // namespace tandem::sync
