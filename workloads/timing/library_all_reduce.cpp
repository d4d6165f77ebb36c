#include "workloads/timing/library_all_reduce.hpp"

namespace tandem {

LibraryAllReduceCost::LibraryAllReduceCost(const Job& job, const platforms::Network& network,
                                           std::uint64_t noise_seed)
    : job_(job),
      network_(network),
      profile_(job.spec().experiment.physics.network == NetworkSource::profile ? job.devices().profile()
                                                                               : nullptr) {
  if (job.spec().experiment.physics.noise == NoiseSource::profile)
    noise_ = Rng::stream(noise_seed, "native all-reduce");
}

LibraryAllReduceCost::Time LibraryAllReduceCost::next(std::span<const Rank> members, Bytes size) {
  const int ranks = static_cast<int>(members.size());
  const auto measured = profile_ == nullptr ? std::nullopt : profile_->all_reduce(ranks, size);
  if (!measured) {
    ++guessed_;
    const Seconds guess = cheapest(members, size);
    return {guess, guess};
  }
  ++measured_;
  const double variation = noise_ ? profile_->draw_all_reduce_variation(ranks, size, *noise_) : 1.0;
  return {*measured * variation, *profile_->all_reduce_behind(ranks, size) * variation};
}

std::string LibraryAllReduceCost::origin() const {
  if (guessed_ == 0) return "as calibrated";
  const std::string guess = "as the cheapest schedule, because no calibration profile covers it";
  if (measured_ == 0) return guess;
  return std::to_string(measured_) + " as calibrated, " + std::to_string(guessed_) + ' ' + guess;
}

Seconds LibraryAllReduceCost::cheapest(std::span<const Rank> members, Bytes size) {
  const auto [known, is_new] =
      cheapest_.try_emplace({std::vector<Rank>(members.begin(), members.end()), size.count()});
  if (is_new) {
    AllReduceSetting setting =
        all_reduce_setting(job_, members, {size.count() / static_cast<std::int64_t>(sizeof(float))});
    setting.collective = "auto";
    known->second = price(plan_all_reduce(setting, network_), setting, network_);
  }
  return known->second;
}

}  // namespace tandem
