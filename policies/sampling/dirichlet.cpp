#include "policies/sampling/dirichlet.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tandem::sampling {
namespace {

/// Logarithm of a Gamma variate, because small shapes give numbers that a double cannot represent. Source:
/// Marsaglia and Tsang (2000); their method for shapes below one is used for all shapes.
double log_gamma_variate(Rng& rng, double shape) {
  const double d = shape + 1.0 - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = rng.normal();
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    const double bound = 0.5 * x * x + d - d * v + d * std::log(v);
    if (std::log(1.0 - rng.uniform()) < bound) return std::log(d * v) + std::log(1.0 - rng.uniform()) / shape;
  }
}

/// Shares of the classes up to a common factor; 0 for classes that do not occur.
std::vector<double> draw_shares(Rng& rng, const std::vector<double>& shapes) {
  std::vector<double> logs;
  for (const double shape : shapes)
    logs.push_back(shape > 0.0 ? log_gamma_variate(rng, shape) : -std::numeric_limits<double>::infinity());
  const double largest = *std::max_element(logs.begin(), logs.end());
  std::vector<double> shares;
  for (const double log : logs) shares.push_back(std::exp(log - largest));
  return shares;
}

/// The worker of each turn: after any turn, workers have about the same share of their sizes.
std::vector<std::size_t> turns_of(const std::vector<std::int64_t>& sizes) {
  struct Turn {
    std::int64_t before, size;  ///< turns of the worker before this one, and in all
    std::size_t worker;
  };
  std::vector<Turn> turns;
  for (std::size_t worker = 0; worker < sizes.size(); ++worker)
    for (std::int64_t before = 0; before < sizes[worker]; ++before)
      turns.push_back({before, sizes[worker], worker});
  std::ranges::sort(turns, [](const Turn& a, const Turn& b) {
    const std::int64_t one = a.before * b.size, other = b.before * a.size;
    return one != other ? one < other : a.worker < b.worker;
  });
  std::vector<std::size_t> workers;
  for (const Turn& turn : turns) workers.push_back(turn.worker);
  return workers;
}

/// The samples of each class that no worker has taken yet.
class Pile {
 public:
  explicit Pile(const Setting& setting) {
    for (SampleId id = 0; id < setting.samples; ++id) {
      const std::size_t label = setting.labels[static_cast<std::size_t>(id)];
      if (label >= left_.size()) left_.resize(label + 1);
      left_[label].push_back(id);
    }
    Rng rng = Rng::stream(setting.seed, "split");
    for (auto& ids : left_) rng.shuffle(ids);
  }

  /// The share of each class, times `alpha`.
  std::vector<double> shapes(double alpha, std::int64_t samples) const {
    std::vector<double> shapes;
    for (const auto& ids : left_)
      shapes.push_back(alpha * static_cast<double>(ids.size()) / static_cast<double>(samples));
    return shapes;
  }

  /// A sample of a class drawn by these shares among the classes that have samples left. Pre: not empty.
  SampleId take(const std::vector<double>& shares, Rng& rng) {
    double total = 0.0;
    for (std::size_t label = 0; label < left_.size(); ++label)
      if (!left_[label].empty()) total += shares[label];
    // No class with a positive share is left: the worker draws by the number of remaining samples.
    const bool indifferent = total <= 0.0;
    double way = rng.uniform() * (indifferent ? static_cast<double>(remaining()) : total);
    std::size_t chosen = left_.size();
    for (std::size_t label = 0; label < left_.size() && (chosen == left_.size() || way >= 0.0); ++label) {
      const double weight = indifferent ? static_cast<double>(left_[label].size()) : shares[label];
      if (left_[label].empty() || weight <= 0.0) continue;
      chosen = label;
      way -= weight;
    }
    const SampleId id = left_[chosen].back();
    left_[chosen].pop_back();
    return id;
  }

 private:
  std::size_t remaining() const {
    std::size_t count = 0;
    for (const auto& ids : left_) count += ids.size();
    return count;
  }

  std::vector<std::vector<SampleId>> left_;  ///< by class
};

}  // namespace

std::vector<OptionSpec> dirichlet_options() {
  return {
      {.name = "alpha",
       .summary = "near 0: each worker has few classes; large: all workers have the same shares",
       .default_value = 0.5,
       .minimum = 1e-3,
       .maximum = 1e6},
      {.name = "ratio",
       .summary = "size of the first worker's shard, divided by that of the last worker's; sizes fall from "
                  "worker to worker by the same factor",
       .default_value = 1.0,
       .minimum = 1.0,
       .maximum = 1e6}};
}

std::vector<std::int64_t> dirichlet_sizes(const Setting& setting) {
  const double ratio = setting.options.real("ratio");
  if (ratio == 1.0 || setting.workers == 1 || setting.samples < setting.workers) return equal_sizes(setting);
  std::vector<double> ends;  // of the workers' parts, up to a common factor
  double end = 0.0;
  for (int worker = 0; worker < setting.workers; ++worker)
    ends.push_back(end += std::pow(ratio, -static_cast<double>(worker) / (setting.workers - 1)));
  const auto more = static_cast<double>(setting.samples - setting.workers);  // than one for each
  std::vector<std::int64_t> sizes;
  std::int64_t taken = 0;
  for (const double own : ends) {
    const auto until = static_cast<std::int64_t>(std::llround(more * (own / end)));
    sizes.push_back(1 + until - taken);
    taken = until;
  }
  return sizes;
}

Shards dirichlet(const Setting& setting) {
  TANDEM_CHECK(setting.workers > 0, "workers", setting.workers);
  expect_labels("dirichlet", setting);
  const auto workers = static_cast<std::size_t>(setting.workers);
  Shards shards(workers);
  if (setting.samples == 0) return shards;
  Pile pile(setting);
  const auto shapes = pile.shapes(setting.options.real("alpha"), setting.samples);
  std::vector<std::vector<double>> shares;
  for (std::size_t worker = 0; worker < workers; ++worker) {
    Rng rng = Rng::stream(setting.seed, "dirichlet", worker);
    shares.push_back(draw_shares(rng, shapes));
  }
  Rng rng = Rng::stream(setting.seed, "dirichlet turns");
  for (const std::size_t worker : turns_of(dirichlet_sizes(setting)))
    shards[worker].push_back(pile.take(shares[worker], rng));
  return shards;
}

}  // namespace tandem::sampling
