// Selection by importance as in iCache (Chen et al., HPCA 2023), after Jiang et al., "Accelerating Deep
// Learning by Focusing on the Biggest Losers", 2019. In an importance epoch a sample is taken with
// probability q^beta, where q is the percentile of its loss among those of the samples considered last.
#include <algorithm>
#include <cmath>
#include <string>

#include "policies/sampling/samplers.hpp"

namespace tandem::sampling {
namespace {

/// The last `length` losses, in order of value.
class History {
 public:
  explicit History(std::size_t length) : length_(length) {}
  std::size_t size() const { return sorted_.size(); }

  void add(float loss) {
    if (ring_.size() < length_) {
      ring_.push_back(loss);
    } else {
      sorted_.erase(std::ranges::lower_bound(sorted_, ring_[next_]));
      ring_[next_] = loss;
      next_ = (next_ + 1) % length_;
    }
    sorted_.insert(std::ranges::upper_bound(sorted_, loss), loss);
  }
  /// (number below + half the number equal) / size; so a loss above all others has 1.
  double percentile(float loss) const {
    const auto [begin, end] = std::ranges::equal_range(sorted_, loss);
    return (static_cast<double>(begin - sorted_.begin()) + 0.5 * static_cast<double>(end - begin)) /
           static_cast<double>(sorted_.size());
  }

 private:
  std::size_t length_;
  std::vector<float> ring_;
  std::size_t next_ = 0;
  std::vector<float> sorted_;
};

class Importance final : public Sampler {
 public:
  explicit Importance(const SamplerSetting& setting)
      : setting_(setting),
        beta_(setting.options.real("beta")),
        history_(static_cast<std::size_t>(setting.options.integer("history"))),
        warm_up_(setting.options.integer("warm_up")),
        reuse_(setting.options.integer("reuse")),
        unvisited_(static_cast<float>(setting.options.real("unvisited"))),
        high_(setting.options.real("high")),
        block_(setting.options.integer("block")),
        is_unbiased_(setting.options.boolean("unbiased")) {
    if (reuse_ == 1)
      throw OptionError("importance", "reuse",
                        "an integer above 1: with 1 every epoch has all samples, so none is selected",
                        reuse_);
  }

  void list(std::int64_t epoch, const Known& known, EpochList& list) const override {
    list.clear();
    if (epoch < warm_up_ || epoch % reuse_ == 0) {
      list.ids = permutation(setting_, epoch);
      return;
    }
    TANDEM_CHECK(std::ssize(known.losses) == setting_.samples, "losses", known.losses.size(), "samples",
                 setting_.samples);
    select(epoch, known, list);
    flag(known, list);
  }

  std::string why_selects_none(std::int64_t epochs) const override {
    if (static_cast<std::int64_t>(history_) >= setting_.samples)
      return "history " + std::to_string(history_) + " of " + std::to_string(setting_.samples) + " samples";
    for (std::int64_t epoch = warm_up_; epoch < epochs; ++epoch)
      if (epoch % reuse_ != 0) return "";
    if (warm_up_ >= epochs) return "warm_up " + std::to_string(warm_up_) + " of " + counted(epochs);
    return "warm_up " + std::to_string(warm_up_) + " and reuse " + std::to_string(reuse_) + " of " +
           counted(epochs);
  }

 private:
  static std::string counted(std::int64_t epochs) {
    return std::to_string(epochs) + (epochs == 1 ? " epoch" : " epochs");
  }

  float loss_of(const Known& known, SampleId id) const {
    const float loss = known.losses[static_cast<std::size_t>(id)];
    return std::isnan(loss) ? unvisited_ : loss;
  }

  void select(std::int64_t epoch, const Known& known, EpochList& list) const {
    Rng rng = Rng::stream(setting_.seed, "selection", static_cast<std::uint64_t>(epoch));
    History history(history_);
    const auto order = permutation(setting_, epoch);
    const auto block = static_cast<std::size_t>(block_);
    for (std::size_t first = 0; first < order.size(); first += block) {
      const std::size_t end = std::min(order.size(), first + block);
      const bool takes_all = history.size() < history_;
      for (std::size_t i = first; i < end; ++i) {
        const double chance = takes_all ? 1.0 : std::pow(history.percentile(loss_of(known, order[i])), beta_);
        if (!takes_all && rng.uniform() >= chance) continue;
        list.ids.push_back(order[i]);
        if (is_unbiased_) list.weights.push_back(static_cast<float>(1.0 / chance));
      }
      for (std::size_t i = first; i < end; ++i) history.add(loss_of(known, order[i]));
    }
    // So that the mean over the list estimates the mean over all samples.
    const float scale = static_cast<float>(list.ids.size()) / static_cast<float>(setting_.samples);
    for (float& weight : list.weights) weight *= scale;
  }

  /// The samples of lowest loss in the list are of low importance.
  void flag(const Known& known, EpochList& list) const {
    std::vector<std::size_t> order(list.ids.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto highs = static_cast<std::ptrdiff_t>(std::ceil(high_ * static_cast<double>(order.size())));
    std::ranges::nth_element(order, order.begin() + highs, [&](std::size_t a, std::size_t b) {
      const float of_a = loss_of(known, list.ids[a]), of_b = loss_of(known, list.ids[b]);
      return of_a != of_b ? of_a > of_b : list.ids[a] < list.ids[b];
    });
    list.low.assign(order.size(), 1);
    for (auto at = order.begin(); at != order.begin() + highs; ++at) list.low[*at] = 0;
  }

  SamplerSetting setting_;
  double beta_;
  std::size_t history_;
  std::int64_t warm_up_;
  std::int64_t reuse_;
  float unvisited_;
  double high_;
  std::int64_t block_;
  bool is_unbiased_;
};

}  // namespace

Catalog<SamplerFactory>::Entry importance() {
  return {
      .name = "importance",
      .summary =
          "samples of high loss more often: taken with probability q^beta, where q is the percentile of the "
          "loss; the first and every reuse-th epoch have all samples",
      .paper =
          "Chen, He, Xu, Zhang, Yang, Hu, Sun, Chen: iCache: An Importance-Sampling-Informed Cache for "
          "Accelerating I/O-Bound DNN Model Training. HPCA 2023",
      .options = {{"beta", "exponent; about 1 / (1 + beta) of the samples are taken", 0.33, 0.0, 100.0},
                  {"history", "losses among which the percentile is taken", std::int64_t{1024}, 1, 1e9},
                  {"block", "samples whose losses enter the history together: the global batch in the paper",
                   std::int64_t{64}, 1, 1e9},
                  {"warm_up", "first epochs, which have all samples", std::int64_t{5}, 0, 1e9},
                  {"reuse", "every so many epochs one has all samples", std::int64_t{3}, 1, 1e9},
                  {"lag", "epochs by which the losses are older than the newest", std::int64_t{0}, 0, 1000},
                  {"unvisited", "loss of samples that were not visited yet", 10.0, 0.0},
                  {"high", "share of the list that is of high importance", 0.7, 0.0, 1.0},
                  {"unbiased", "weight the losses so that their mean estimates that over all samples",
                   false}},
      .make = {.make = make_sampler<Importance>, .needs_losses = true}};
}

}  // namespace tandem::sampling
