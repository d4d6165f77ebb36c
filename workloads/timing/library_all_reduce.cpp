#include "workloads/timing/library_all_reduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/cost/all_reduce_fit.hpp"

namespace tandem {
namespace {

constexpr double noticeable = 1.005;

/// Times of a machine count with its network only; those of tables count with the platform's links.
bool takes_times_of(const Profile& profile, NetworkSource network) {
  return network == NetworkSource::profile || profile.has_tables_alone();
}

}  // namespace

LibraryAllReduceCost::LibraryAllReduceCost(const Job& job, const platforms::Network& network,
                                           std::uint64_t noise_seed)
    : job_(job), network_(network), profile_(job.devices().profile()) {
  if (profile_ != nullptr && !takes_times_of(*profile_, job.spec().experiment.physics.network)) {
    is_unused_ = !profile_->all_reduces.empty();
    profile_ = nullptr;
  }
  if (job.spec().experiment.physics.noise == NoiseSource::profile)
    noise_ = Rng::stream(noise_seed, "native all-reduce");
}

LibraryAllReduceCost::Time LibraryAllReduceCost::next(std::span<const Rank> members, Bytes size) {
  const int ranks = static_cast<int>(members.size());
  std::optional<Time> time;
  if (profile_ != nullptr && !profile_->has_all_reduces(ranks)) time = fitted(ranks, size);
  if (time) {
    ++fitted_;
  } else {
    const auto measured = profile_ == nullptr ? std::nullopt : profile_->all_reduce(ranks, size);
    if (!measured) {
      ++guessed_;
      const Guess& guessed = guess(members, size);
      guessed_in_all_ = {guessed_in_all_.cheapest + guessed.cheapest, guessed_in_all_.ring + guessed.ring};
      return {guessed.cheapest, guessed.cheapest};
    }
    ++measured_;
    time = {*measured, *profile_->all_reduce_behind(ranks, size)};
  }
  const double variation = noise_ ? profile_->draw_all_reduce_variation(ranks, size, *noise_) : 1.0;
  return {time->alone * variation, time->behind * variation};
}

std::optional<LibraryAllReduceCost::Time> LibraryAllReduceCost::fitted(int ranks, Bytes size) {
  const auto [known, is_new] = formulas_.try_emplace({ranks, size.count()});
  if (!is_new) return known->second;
  const auto formula = fit_all_reduces(*profile_, size);
  if (!formula) return std::nullopt;
  // Concurrent ones share links as those of the nearest measured number of ranks do.
  const int nearest = profile_->nearest_all_reduce_ranks(ranks);
  const double behind = *profile_->all_reduce_behind(nearest, size) / *profile_->all_reduce(nearest, size);
  const Seconds alone = collectives::predict(*formula, ranks, size.count());
  known->second = {alone, alone * behind};
  return known->second;
}

std::string LibraryAllReduceCost::origin() const {
  std::string guess = fmt::format("as the cheapest schedule, {}", fmt::join(guessed_as_, " and "));
  if (guessed_in_all_.ring > guessed_in_all_.cheapest * noticeable)
    guess += fmt::format(" (a library that chooses rings takes {:.2f} times as long)",
                         guessed_in_all_.ring / guessed_in_all_.cheapest);
  guess += ", because ";
  if (is_unused_)
    guess += "the profile's times of all-reduces count with physics.network=profile only";
  else if (profile_ != nullptr)
    guess += profile_->all_reduces.empty() ? "the calibration profile has no times of all-reduces"
                                           : "the calibration profile has none among so many ranks";
  else
    guess += "no calibration profile covers it";
  std::string text;
  const auto add = [&](std::int64_t count, const std::string& how) {
    if (count == 0) return;
    const bool is_only = count == measured_ + fitted_ + guessed_;
    text += (text.empty() ? "" : ", ") + (is_only ? "" : std::to_string(count) + ' ') + how;
  };
  add(measured_, "as calibrated");
  add(fitted_, "by a formula fitted to other numbers of ranks");
  add(guessed_, guess);
  return text.empty() ? "as calibrated" : text;
}

const LibraryAllReduceCost::Guess& LibraryAllReduceCost::guess(std::span<const Rank> members, Bytes size) {
  const auto [known, is_new] =
      guesses_.try_emplace({std::vector<Rank>(members.begin(), members.end()), size.count()});
  if (!is_new) return known->second;
  AllReduceSetting setting =
      all_reduce_setting(job_, members, {size.count() / static_cast<std::int64_t>(sizeof(float))});
  const auto time_of = [&](const std::string& collective) {
    setting.collective = collective;
    const auto [plan, time] = plan_and_price(setting, network_);
    if (plan.picked) guessed_as_.insert(plan.collectives.begin(), plan.collectives.end());
    return time;
  };
  return known->second = {.cheapest = time_of(cheapest_all_reduce), .ring = time_of("ring")};
}

}  // namespace tandem
