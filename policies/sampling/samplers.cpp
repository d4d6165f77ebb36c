// The list of samplers, in the order in which `tandem list sampling` prints them, and their common parts.
#include "policies/sampling/samplers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tandem::sampling {

const Catalog<SamplerFactory>& samplers() {
  static const Catalog<SamplerFactory> table("sampler",
                                             {{"shard",
                                               "each worker visits the samples of its own shard in random "
                                               "order; data.split says which",
                                               "",
                                               {},
                                               {.visits_all = true}},
                                              shuffled(),
                                              replacement(),
                                              importance(),
                                              rank_exponential(),
                                              shade(),
                                              chunked()});
  return table;
}

void deal(const EpochList& list, int worker, int workers, EpochList& part) {
  TANDEM_CHECK(workers > 0 && worker >= 0 && worker < workers, worker, workers);
  part.clear();
  const auto step = static_cast<std::size_t>(workers);
  const std::size_t length = list.ids.size() / step * step;
  for (std::size_t i = static_cast<std::size_t>(worker); i < length; i += step) {
    part.ids.push_back(list.ids[i]);
    if (!list.low.empty()) part.low.push_back(list.low[i]);
    if (!list.weights.empty()) part.weights.push_back(list.weights[i]);
  }
}

namespace {

double entropy(const std::vector<std::int64_t>& counts, std::int64_t batch) {
  double sum = 0.0;
  for (const std::int64_t count : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(batch);
    if (count > 0) sum -= share * std::log(share);
  }
  return sum;
}

/// Mean entropy of batches whose samples are drawn uniformly and independently, by simulation with a fixed
/// seed.
double entropy_of_uniform(std::int64_t batch, int ranges) {
  constexpr int batches = 2000;
  Rng rng(1);
  double sum = 0.0;
  for (int i = 0; i < batches; ++i) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranges));
    for (std::int64_t k = 0; k < batch; ++k) ++counts[rng.below(static_cast<std::uint64_t>(ranges))];
    sum += entropy(counts, batch);
  }
  return sum / batches;
}

}  // namespace

double mixing(const std::vector<SampleId>& ids, std::int64_t samples, std::int64_t batch, int ranges) {
  TANDEM_CHECK(batch > 0 && std::ssize(ids) >= batch && samples > 0, ids.size(), batch, samples);
  double sum = 0.0;
  std::int64_t batches = 0;
  for (std::size_t first = 0; first + static_cast<std::size_t>(batch) <= ids.size();
       first += static_cast<std::size_t>(batch), ++batches) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranges));
    for (std::size_t i = first; i < first + static_cast<std::size_t>(batch); ++i)
      ++counts[static_cast<std::size_t>(ids[i] * ranges / samples)];
    sum += entropy(counts, batch);
  }
  const double uniform = entropy_of_uniform(batch, ranges);
  return uniform == 0.0 ? 1.0 : sum / static_cast<double>(batches) / uniform;
}

std::vector<SampleId> ids_below(std::int64_t samples) {
  std::vector<SampleId> ids(static_cast<std::size_t>(samples));
  std::iota(ids.begin(), ids.end(), SampleId{0});
  return ids;
}

std::vector<SampleId> permutation(const SamplerSetting& setting, std::int64_t epoch) {
  auto ids = ids_below(setting.samples);
  Rng::stream(setting.seed, "epoch order", static_cast<std::uint64_t>(epoch)).shuffle(ids);
  return ids;
}

std::vector<SampleId> by_loss(const SamplerSetting& setting, std::span<const float> losses, float unvisited) {
  auto ids = ids_below(setting.samples);
  const auto loss_of = [&](SampleId id) {
    const float loss = losses[static_cast<std::size_t>(id)];
    return std::isnan(loss) ? unvisited : loss;
  };
  std::ranges::sort(ids, [&](SampleId a, SampleId b) {
    return loss_of(a) != loss_of(b) ? loss_of(a) > loss_of(b) : a < b;
  });
  return ids;
}

}  // namespace tandem::sampling
