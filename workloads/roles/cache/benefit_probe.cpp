#include "workloads/roles/cache/benefit_probe.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {

double BenefitProbe::Result::benefit() const {
  return without.mean() > Seconds(0) ? std::max(0.0, (without.mean() - with.mean()) / without.mean()) : 0.0;
}

BenefitProbe::BenefitProbe(std::size_t workers, std::int64_t steps, std::int64_t first)
    : steps_(steps), first_(first), workers_(workers) {
  TANDEM_CHECK(workers > 0 && steps > 0 && first >= 0, workers, steps, first);
}

void BenefitProbe::begin_epoch() {
  if (epochs_until_ == 0 || --epochs_until_ > 0) return;
  ++number_;
  phase_ = Phase::with;
  begun_ = sent_ = 0;
  result_ = {};
  std::ranges::fill(workers_, Last());
}

BenefitProbe::Change BenefitProbe::begin_again() {
  epochs_until_ = std::max(1, epochs_until_);
  ++number_;
  return std::exchange(phase_, Phase::none) == Phase::without ? Change::returns : Change::none;
}

BenefitProbe::Change BenefitProbe::begin_batch() {
  if (phase_ == Phase::none) return Change::none;
  Change change = Change::none;
  if (begun_ == batches_of_phase()) {
    phase_ = Phase::without;
    change = Change::bypasses;
  } else if (begun_ == 2 * batches_of_phase()) {
    phase_ = Phase::none;
    return Change::returns;
  }
  ++begun_;
  return change;
}

std::optional<BenefitProbe::Result> BenefitProbe::note_sent(std::size_t worker, const Tag& tag,
                                                            std::int64_t epoch, Seconds now) {
  if (tag.phase == Phase::none || tag.probe != number_) return std::nullopt;
  Last& last = workers_[worker];
  if (last.phase != tag.phase) last = {.phase = tag.phase};
  Intervals& intervals = tag.phase == Phase::with ? result_.with : result_.without;
  // When an epoch ends, workers wait for more than batches.
  if (last.batches > first_ && last.epoch == epoch) {
    ++intervals.count;
    intervals.sum += now - last.sent;
  }
  ++last.batches;
  last.epoch = epoch;
  last.sent = now;
  if (++sent_ < 2 * batches_of_phase() || result_.with.count == 0 || result_.without.count == 0)
    return std::nullopt;
  return result_;
}

}  // namespace tandem
