// The sampler of SHADE (Khan et al., FAST 2023): draws with replacement by the rank of the loss within a
// batch, and repeats what is in a cache. The rank is the expected one in a random batch, so that the list
// depends on the losses alone and not on the batches of earlier epochs. Two published rules are left out: a
// small term of the weights that follows the mean loss of epochs, and that all workers train on the samples
// drawn most often while the accuracy rises, which is not known when the list is made.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/sampling/samplers.hpp"

namespace tandem::sampling {
namespace {

class Shade final : public Sampler {
 public:
  explicit Shade(const SamplerSetting& setting)
      : setting_(setting), repetitions_(setting.options.real("repetitions")) {}

  void list(std::int64_t epoch, const Known& known, EpochList& list) const override {
    list.clear();
    if (epoch == 0) {
      list.ids = permutation(setting_, epoch);
      return;
    }
    TANDEM_CHECK(std::ssize(known.losses) == setting_.samples, "losses", known.losses.size(), "samples",
                 setting_.samples);
    Rng rng = Rng::stream(setting_.seed, "weights", static_cast<std::uint64_t>(epoch));
    list.ids = drawn(weights(known), rng);
    if (known.is_cached) favour_cached(list.ids, known, rng);
  }

 private:
  /// ln(expected rank + 10).
  std::vector<double> weights(const Known& known) const {
    const auto ranked = by_loss(setting_, known.losses, /*unvisited=*/10.0F);
    std::vector<double> weights(ranked.size());
    const double last = static_cast<double>(std::max<std::size_t>(2, ranked.size()) - 1);
    for (std::size_t place = 0; place < ranked.size(); ++place) {
      const double share = 1.0 - static_cast<double>(place) / last;  // 1: the highest loss
      weights[static_cast<std::size_t>(ranked[place])] =
          std::log(share * static_cast<double>(setting_.batch - 1) + 10.0);
    }
    return weights;
  }
  std::vector<SampleId> drawn(const std::vector<double>& weights, Rng& rng) const {
    std::vector<double> sums(weights.size());
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    std::vector<SampleId> ids(weights.size());
    for (SampleId& id : ids) {
      const auto found = std::ranges::upper_bound(sums, rng.uniform() * sums.back());
      id = std::min<SampleId>(found - sums.begin(), setting_.samples - 1);
    }
    return ids;
  }
  /// Cached samples first, repeated; then the others while the length lasts.
  void favour_cached(std::vector<SampleId>& ids, const Known& known, Rng& rng) const {
    const std::size_t length = ids.size();
    const auto misses = std::ranges::stable_partition(ids, known.is_cached);
    std::vector<SampleId> hits(ids.begin(), misses.begin());
    std::vector<SampleId> others(misses.begin(), misses.end());
    std::vector<SampleId> order;
    const auto wanted = static_cast<std::size_t>(repetitions_ * static_cast<double>(hits.size()));
    for (std::size_t i = 0; i < wanted; ++i) order.push_back(hits[i % hits.size()]);
    rng.shuffle(others);
    order.insert(order.end(), others.begin(), others.end());
    order.resize(std::min(length, order.size()));
    ids = std::move(order);
  }

  SamplerSetting setting_;
  double repetitions_;
};

}  // namespace

Catalog<SamplerFactory>::Entry shade() {
  return {
      .name = "shade",
      .summary = "draws with replacement by the rank of the loss in a batch; samples in a cache are repeated",
      .paper =
          "Khan, Yazdani, Fu, Paul, Ji, Jian, Cheng, Butt: SHADE: Enable Fundamental Cacheability for "
          "Distributed Deep Learning Training. FAST 2023",
      .options = {{"repetitions", "how often a sample in a cache is repeated", 3.0, 1.0, 1000.0},
                  {"lag", "epochs by which the losses are older than the newest", std::int64_t{0}, 0, 1000}},
      .make = {.make = make_sampler<Shade>, .needs_losses = true, .needs_cached = true, .may_repeat = true}};
}

}  // namespace tandem::sampling
