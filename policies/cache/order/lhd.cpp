// LHD, least hit density (Beckmann, Chen, Cidon, NSDI 2018): evicts, among some residents drawn at random,
// the one with the fewest expected hits for each byte and request that it would stay. The expectation is
// learnt from hits and evictions of samples of the same class and age. Age is the number of requests since
// the last access.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

struct AgedEntry : Entry {
  std::uint64_t accessed = 0;        ///< number of the request
  std::uint32_t place = 0;           ///< among the residents
  std::uint32_t last_hit_age = 0;    ///< coarse; 0: no hit yet
  std::uint32_t hit_age_before = 0;  ///< of the hit before
};

/// Hits and evictions by class and coarse age, and the hit densities that follow.
class HitDensities {
 public:
  static constexpr std::uint32_t ages = 4096;
  static constexpr std::uint32_t classes = 16;

  HitDensities() : hits_(classes * ages), evictions_(classes * ages), densities_(classes * ages) {
    // Before anything is known, the oldest sample is the worst: as LRU.
    for (std::uint32_t of = 0; of < classes; ++of)
      for (std::uint32_t age = 0; age < ages; ++age)
        densities_[of * ages + age] = 1.0F / static_cast<float>(age + 1);
  }

  void note_hit(std::uint32_t of, std::uint32_t age) { hits_[of * ages + age] += 1; }
  void note_eviction(std::uint32_t of, std::uint32_t age) { evictions_[of * ages + age] += 1; }
  float density(std::uint32_t of, std::uint32_t age) const { return densities_[of * ages + age]; }

  /// Learns from the notes, and gives older notes less weight from now on.
  void refit() {
    for (std::uint32_t of = 0; of < classes; ++of) {
      double hits = 0, events = 0, lifetime = 0;
      for (std::uint32_t age = ages; age-- > 0;) {
        const std::size_t at = of * ages + age;
        hits += hits_[at];
        events += hits_[at] + evictions_[at];
        // Every event at this age or later lives through this age.
        lifetime += events;
        densities_[at] = events > 0 ? static_cast<float>(hits / lifetime) : 0.0F;
        constexpr float decay = 0.9F;
        hits_[at] *= decay;
        evictions_[at] *= decay;
      }
    }
  }

 private:
  std::vector<float> hits_, evictions_, densities_;
};

template <class Ids>
class Lhd final : public Order<Lhd<Ids>, Ids, 1, AgedEntry> {
  using Base = Order<Lhd, Ids, 1, AgedEntry>;
  friend Base;

 public:
  explicit Lhd(const OrderSetting& setting)
      : Base(setting),
        drawn_(setting.options.integer("drawn")),
        longest_(setting.options.integer("refit")),
        random_(Rng::stream(setting.seed, "lhd")),
        interval_(std::min(first_interval, longest_)),
        until_fit_(interval_) {}

 private:
  static constexpr std::uint32_t here = 1;
  /// Requests between the first fits, which double until they are `refit` apart. Not more than these.
  static constexpr std::int64_t first_interval = 4096;

  typename Base::Nothing recall(Row, std::int64_t) {
    tick();
    return {};
  }
  void touch(Row row) {
    tick();
    auto& entry = this->entry(row);
    const std::uint32_t age = age_of(entry);
    densities_.note_hit(class_of(entry), age);
    entry.hit_age_before = entry.last_hit_age;
    entry.last_hit_age = age;
    entry.accessed = now_;
  }
  Row choose(typename Base::Nothing) {
    Row victim = no_row;
    float least = std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < drawn_; ++i) {
      const Row row = residents_[random_.below(residents_.size())];
      const auto& entry = this->entry(row);
      const float rank = densities_.density(class_of(entry), age_of(entry)) /
                         static_cast<float>(std::max<std::int64_t>(entry.size, 1));
      if (victim != no_row && rank >= least) continue;
      least = rank;
      victim = row;
    }
    return victim;
  }
  void place(Row row, typename Base::Nothing) {
    auto& entry = this->entry(row);
    entry.list = here;
    entry.accessed = now_;
    entry.last_hit_age = entry.hit_age_before = 0;
    entry.place = static_cast<std::uint32_t>(residents_.size());
    residents_.push_back(row);
  }
  void leave(Row row) {
    auto& entry = this->entry(row);
    densities_.note_eviction(class_of(entry), age_of(entry));
    const Row last = residents_.back();
    residents_[entry.place] = last;
    this->entry(last).place = entry.place;
    residents_.pop_back();
    entry.list = 0;
    this->entries().drop(row);
  }

  std::uint32_t age_of(const AgedEntry& entry) const {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((now_ - entry.accessed) >> coarsening_, HitDensities::ages - 1));
  }
  /// By the ages of the last two hits: each class has ages twice as long as the one before; the last one is
  /// that of samples that were not hit.
  static std::uint32_t class_of(const AgedEntry& entry) {
    const std::uint32_t sum = entry.last_hit_age + entry.hit_age_before;
    if (sum == 0) return HitDensities::classes - 1;
    return std::min(static_cast<std::uint32_t>(std::bit_width(sum)), HitDensities::classes - 2);
  }

  void tick() {
    ++now_;
    if (--until_fit_ > 0) return;
    densities_.refit();
    interval_ = std::min(longest_, 2 * interval_);
    until_fit_ = interval_;
    // The longest age is 32 times the requests in which all residents were wanted once.
    const std::uint64_t span = 32 * std::max<std::uint64_t>(1, residents_.size());
    const auto needed = static_cast<std::uint32_t>(std::bit_width(span / HitDensities::ages));
    coarsening_ = std::max(coarsening_, needed);
  }

  std::int64_t drawn_;
  std::int64_t longest_;
  Rng random_;
  HitDensities densities_;
  std::vector<Row> residents_;
  std::uint64_t now_ = 0;  ///< requests
  std::uint32_t coarsening_ = 0;
  std::int64_t interval_;
  std::int64_t until_fit_;
};

Catalog<Factory>::Entry lhd() {
  return {
      .name = "lhd",
      .summary =
          "evicts, of some residents drawn at random, the one with the least expected hits for each byte and "
          "request that it would stay",
      .paper = "Beckmann, Chen, Cidon: LHD: Improving Cache Hit Rate by Maximizing Hit Density. NSDI 2018",
      .options = {{"drawn", "residents among which one is evicted", std::int64_t{32}, 1, 1e6},
                  {"refit", "requests between two fits of the hit densities, at most", std::int64_t{1} << 20,
                   1, 1e12}},
      .make = order_factory<Lhd>()};
}

}  // namespace tandem::cache
