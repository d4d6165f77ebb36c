// Online batch selection (Loshchilov, Hutter, ICLR workshop 2016): draws with replacement, where the
// probability of a sample falls exponentially with its rank by loss.
#include <algorithm>
#include <cmath>

#include "policies/sampling/samplers.hpp"

namespace tandem::sampling {
namespace {

class RankExponential final : public Sampler {
 public:
  explicit RankExponential(const SamplerSetting& setting)
      : setting_(setting),
        pressure_(setting.options.real("pressure")),
        share_(setting.options.real("share")),
        high_(setting.options.real("high")),
        unvisited_(static_cast<float>(setting.options.real("unvisited"))),
        is_unbiased_(setting.options.boolean("unbiased")) {}

  void list(std::int64_t epoch, const Known& known, EpochList& list) const override {
    list.clear();
    if (epoch == 0) {
      list.ids = permutation(setting_, epoch);
      return;
    }
    TANDEM_CHECK(std::ssize(known.losses) == setting_.samples, "losses", known.losses.size(), "samples",
                 setting_.samples);
    const auto ranked = by_loss(setting_, known.losses, unvisited_);
    const auto count = static_cast<double>(setting_.samples);
    const double draws = share_ * count;
    Rng rng = Rng::stream(setting_.seed, "ranks", static_cast<std::uint64_t>(epoch));
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(draws); ++i) {
      // The inverse of the distribution of rank / samples, whose density is proportional to pressure^-x.
      const double x = pressure_ == 1.0
                           ? rng.uniform()
                           : -std::log(1.0 - rng.uniform() * (1.0 - 1.0 / pressure_)) / std::log(pressure_);
      const auto rank = std::min(static_cast<std::size_t>(x * count), ranked.size() - 1);
      list.ids.push_back(ranked[rank]);
      list.low.push_back(static_cast<double>(rank) <= high_ * draws ? 0 : 1);
      if (is_unbiased_) list.weights.push_back(static_cast<float>(1.0 / (count * probability(rank))));
    }
  }

 private:
  /// The probability that one draw gives this rank.
  double probability(std::size_t rank) const {
    const auto count = static_cast<double>(setting_.samples);
    if (pressure_ == 1.0) return 1.0 / count;
    const auto below = [&](double x) { return (1.0 - std::pow(pressure_, -x)) / (1.0 - 1.0 / pressure_); };
    return below(static_cast<double>(rank + 1) / count) - below(static_cast<double>(rank) / count);
  }

  SamplerSetting setting_;
  double pressure_;
  double share_;
  double high_;
  float unvisited_;
  bool is_unbiased_;
};

}  // namespace

Catalog<SamplerFactory>::Entry rank_exponential() {
  return {
      .name = "rank-exponential",
      .summary =
          "draws with replacement; the probability of a sample falls exponentially with its rank by loss",
      .paper =
          "Loshchilov, Hutter: Online Batch Selection for Faster Training of Neural Networks. ICLR "
          "workshop, 2016",
      .options = {{"pressure", "ratio of the probabilities of the highest and the lowest loss", 100.0, 1.0},
                  {"share", "draws of an epoch, as a share of the samples", 0.8, 0.001, 100.0},
                  {"lag", "epochs by which the losses are older than the newest", std::int64_t{0}, 0, 1000},
                  {"unvisited", "loss of samples that were not visited yet", 10.0, 0.0},
                  {"high", "samples of high importance, as a share of the draws", 0.7, 0.0, 1.0},
                  {"unbiased", "weight the losses so that their mean estimates that over all samples",
                   false}},
      .make = {.make = make_sampler<RankExponential>, .needs_losses = true, .may_repeat = true}};
}

}  // namespace tandem::sampling
