#include "workloads/timing/library_all_reduce.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policies/collectives/nccl.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/cost/all_reduce_fit.hpp"
#include "workloads/cost/network_table.hpp"

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
  if (profile_ != nullptr && !NetworkTable(*profile_).has_all_reduces(ranks)) time = fitted(ranks, size);
  if (time) {
    ++fitted_;
  } else {
    const auto measured =
        profile_ == nullptr ? std::nullopt : NetworkTable(*profile_).all_reduce(ranks, size);
    if (!measured) {
      ++guessed_;
      const Guess& guessed = guess(members, size);
      guessed_in_all_ = {guessed_in_all_.time + guessed.time, guessed_in_all_.ring + guessed.ring};
      return {guessed.time, guessed.time};
    }
    ++measured_;
    time = {*measured, *NetworkTable(*profile_).all_reduce_behind(ranks, size)};
  }
  const double variation =
      noise_ ? NetworkTable(*profile_).draw_all_reduce_variation(ranks, size, *noise_) : 1.0;
  return {time->alone * variation, time->behind * variation};
}

std::optional<LibraryAllReduceCost::Time> LibraryAllReduceCost::fitted(int ranks, Bytes size) {
  const auto [known, is_new] = formulas_.try_emplace({ranks, size.count()});
  if (!is_new) return known->second;
  const auto formula = fit_all_reduces(*profile_, size);
  if (!formula) return std::nullopt;
  // Concurrent ones share links as those of the nearest measured number of ranks do.
  const NetworkTable table(*profile_);
  const int nearest = table.nearest_all_reduce_ranks(ranks);
  const double behind = *table.all_reduce_behind(nearest, size) / *table.all_reduce(nearest, size);
  const Seconds alone = collectives::predict(*formula, ranks, size.count());
  known->second = {alone, alone * behind};
  return known->second;
}

std::string LibraryAllReduceCost::origin() const {
  std::string guess = fmt::format("{} {}", guessed_nccl_ ? "as NCCL's" : "as the cheapest schedule,",
                                  fmt::join(guessed_as_, " and "));
  if (!guessed_nccl_ && guessed_in_all_.ring > guessed_in_all_.time * noticeable)
    guess += fmt::format(" (sums by rings would take {:.2f} times as long)",
                         guessed_in_all_.ring / guessed_in_all_.time);
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

bool LibraryAllReduceCost::is_nccl(std::span<const Rank> members) const {
  return job_.spec().experiment.physics.all_reduce != LibraryAlgorithm::automatic ||
         std::ranges::all_of(members, [&](Rank rank) { return job_.devices().has_second_queue(rank); });
}

LibraryAllReduceCost::Guess LibraryAllReduceCost::guess_nccl(std::span<const Rank> members, Bytes size) {
  const auto priced = [&](std::int64_t elements) {
    AllReduceSetting setting = all_reduce_setting(job_, members, {elements});
    setting.collective = "ring";
    return std::pair(plan_and_price(setting, network_), std::move(setting.hosts));
  };
  const auto [all, hosts] = priced(size.count() / static_cast<std::int64_t>(sizeof(float)));
  // The time of one element for each rank: hardly more than the latencies. Each step waits for its slowest
  // message.
  const Seconds latencies = std::min(all.time, priced(std::ssize(members)).first.time);
  const Seconds step = latencies / (2.0 * (static_cast<double>(members.size()) - 1));
  collectives::RingCost cost{.transfers = all.time - latencies,
                             .hops = latencies_around(hosts, all.plan.workers.order)};
  const Seconds longest = *std::ranges::max_element(cost.hops);
  for (Seconds& hop : cost.hops) hop = longest > Seconds(0) ? step * (hop / longest) : step;
  const Seconds ring = collectives::nccl_ring(cost);
  collectives::NcclTime chosen = collectives::nccl_all_reduce(cost);
  const LibraryAlgorithm given = job_.spec().experiment.physics.all_reduce;
  if (given == LibraryAlgorithm::ring) chosen = {"ring", ring};
  if (given == LibraryAlgorithm::tree) chosen = {"tree", collectives::nccl_tree(cost)};
  guessed_as_.insert(chosen.algorithm);
  guessed_nccl_ = true;
  return {.time = chosen.time, .ring = ring};
}

std::vector<Seconds> LibraryAllReduceCost::latencies_around(const std::vector<std::string>& hosts,
                                                            const std::vector<int>& order) const {
  const auto place_of = [&](int worker) {
    const auto found = std::ranges::find(network_.hosts, hosts[static_cast<std::size_t>(worker)]);
    TANDEM_CHECK(found != network_.hosts.end(), "worker", worker);
    return static_cast<std::size_t>(found - network_.hosts.begin());
  };
  std::vector<Seconds> latencies;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (network_.routes.empty()) {
      latencies.push_back(network_.typical.latency);
      continue;
    }
    const std::size_t from = place_of(order[i]), to = place_of(order[(i + 1) % order.size()]);
    const auto& route = network_.routes[from * network_.hosts.size() + to];
    latencies.push_back(route ? route->latency : network_.typical.latency);
  }
  return latencies;
}

const LibraryAllReduceCost::Guess& LibraryAllReduceCost::guess(std::span<const Rank> members, Bytes size) {
  const auto [known, is_new] =
      guesses_.try_emplace({std::vector<Rank>(members.begin(), members.end()), size.count()});
  if (!is_new) return known->second;
  if (members.size() > 1 && is_nccl(members)) return known->second = guess_nccl(members, size);
  AllReduceSetting setting =
      all_reduce_setting(job_, members, {size.count() / static_cast<std::int64_t>(sizeof(float))});
  const auto time_of = [&](const std::string& collective) {
    setting.collective = collective;
    const auto [plan, time] = plan_and_price(setting, network_);
    if (plan.picked) guessed_as_.insert(plan.collectives.begin(), plan.collectives.end());
    return time;
  };
  return known->second = {.time = time_of(cheapest_all_reduce), .ring = time_of("ring")};
}

}  // namespace tandem
