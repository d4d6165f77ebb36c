// SHADE (Khan, Yazdani, Fu, Paul, Ji, Jian, Cheng, Butt, FAST 2023). A sample's weight is its rank by loss
// within the last batch in which it was trained. For a sample with more weight, the cache evicts the sample
// of least weight, then of least frequency. Weights and frequencies of evicted samples are remembered.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"

namespace tandem::cache {
namespace {

class Shade final : public CachePolicy {
 public:
  explicit Shade(const Setting& setting)
      : setting_(setting),
        kept_(setting.capacity()),
        merits_(static_cast<std::size_t>(setting.manifest.samples)),
        batches_(static_cast<std::size_t>(setting.jobs)) {}

  void on_want(const Want& want, Decisions& decisions) override {
    Trained& trained = batches_[static_cast<std::size_t>(want.job)];
    for (const auto& [id, size] : want.now) {
      const bool is_hit = kept_.holds(id);
      count_use(id);
      decisions.serve.push_back({id, id, is_hit ? tier(0) : store()});
      if (!is_hit) admit(id, size, decisions);
      trained.ids.push_back(id);
    }
    trained.ends.push_back(trained.ids.size());
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (const Arrived& read : arrived) {
      if (read.outcome == Arrived::Outcome::here || !kept_.holds(read.id)) continue;
      order_.erase(key(read.id));
      kept_.drop(read.id, read.size, decisions);
    }
  }

  /// Ranks the samples of each batch since the last call.
  void on_importance(int job, std::span<const float> losses, Decisions&) override {
    Trained& trained = batches_[static_cast<std::size_t>(job)];
    std::size_t begin = 0;
    for (const std::size_t end : trained.ends) {
      ranked_.assign(trained.ids.begin() + static_cast<std::ptrdiff_t>(begin),
                     trained.ids.begin() + static_cast<std::ptrdiff_t>(end));
      std::erase_if(ranked_, [&](SampleId id) { return std::isnan(losses[index(id)]); });
      std::ranges::sort(ranked_, [&](SampleId a, SampleId b) {
        return std::tuple(losses[index(a)], a) < std::tuple(losses[index(b)], b);
      });
      for (std::size_t rank = 0; rank < ranked_.size(); ++rank)
        set_weight(ranked_[rank], static_cast<float>(std::log(static_cast<double>(rank) + 10.0)));
      begin = end;
    }
    trained.ids.clear();
    trained.ends.clear();
  }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  struct Merit {
    float weight = 0.0F;
    std::uint32_t uses = 0;
  };
  struct Trained {
    std::vector<SampleId> ids;
    std::vector<std::size_t> ends;  ///< of each batch in `ids`
  };
  using Key = std::tuple<float, std::uint32_t, SampleId>;

  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  Key key(SampleId id) const { return {merits_[index(id)].weight, merits_[index(id)].uses, id}; }

  /// Moves the entry of a sample in the order; its memory is reused.
  template <class Change>
  void change(SampleId id, const Change& apply) {
    if (!kept_.holds(id)) return apply(merits_[index(id)]);
    auto node = order_.extract(key(id));
    apply(merits_[index(id)]);
    node.value() = key(id);
    order_.insert(std::move(node));
  }
  void count_use(SampleId id) {
    change(id, [](Merit& merit) { ++merit.uses; });
  }
  void set_weight(SampleId id, float weight) {
    change(id, [weight](Merit& merit) { merit.weight = weight; });
  }

  bool counts_more(SampleId id, SampleId other) const {
    const Merit &merit = merits_[index(id)], &others = merits_[index(other)];
    return std::tie(merit.weight, merit.uses) > std::tie(others.weight, others.uses);
  }

  void admit(SampleId id, Bytes size, Decisions& decisions) {
    if (size > setting_.capacity()) return;
    // Evicts only if all samples that must leave have less weight.
    Bytes room = kept_.room();
    for (auto least = order_.begin(); size > room; ++least) {
      if (!counts_more(id, std::get<SampleId>(*least))) return;
      room += setting_.manifest.size_of(std::get<SampleId>(*least));
    }
    std::set<Key>::node_type node;
    while (size > kept_.room()) {
      node = order_.extract(order_.begin());
      const SampleId least = std::get<SampleId>(node.value());
      kept_.drop(least, setting_.manifest.size_of(least), decisions);
    }
    kept_.keep(id, size, decisions);
    if (node.empty()) {
      order_.insert(key(id));
      return;
    }
    node.value() = key(id);
    order_.insert(std::move(node));
  }

  Setting setting_;
  Kept kept_;
  std::vector<Merit> merits_;     ///< by id, also of samples that are not here
  std::set<Key> order_;           ///< of those that are here, least first
  std::vector<Trained> batches_;  ///< by job, since the last importance
  std::vector<SampleId> ranked_;  ///< scratch
};

}  // namespace

Catalog<Factory>::Entry shade() {
  return {
      .name = "shade",
      .summary =
          "evicts the sample of least weight (rank by loss in its last batch), then of least frequency, for "
          "one that counts more",
      .paper =
          "Khan, Yazdani, Fu, Paul, Ji, Jian, Cheng, Butt: SHADE: Enable Fundamental Cacheability for "
          "Distributed Deep Learning Training. FAST 2023",
      .options = {},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<Shade>(setting);
               },
               .needs = {.manifest = true, .importance = true}}};
}

}  // namespace tandem::cache
