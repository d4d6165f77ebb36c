// W-TinyLFU (Einziger, Friedman, Manes, ACM TOS 13(4), 2017). New samples pass through a small LRU window. A
// sample that leaves the window enters the main part, a segmented LRU, if that has room; otherwise it stays
// only if it was requested more often than the sample that would have to leave, by a sketch of frequencies.
#include "policies/cache/order/frequency_sketch.hpp"
#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/order/segments.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class WTinyLfu final : public SegmentedOrder<WTinyLfu<Ids>, Ids, 1 + most_segments> {
  using Base = SegmentedOrder<WTinyLfu, Ids, 1 + most_segments>;
  friend Order<WTinyLfu, Ids, 1 + most_segments>;

 public:
  explicit WTinyLfu(const OrderSetting& setting)
      : Base(setting),
        window_bytes_(share_of(setting.capacity, setting.options.real("window"))),
        counts_window_(setting.options.boolean("count-window")),
        chance_(setting.options.real("chance")),
        sketch_(static_cast<std::uint8_t>(setting.options.integer("most")), setting.options.real("aging")),
        random_(Rng::stream(setting.seed, "w-tinylfu admission")) {
    const auto segments = setting.options.integer("segments");
    const std::int64_t main_bytes = setting.capacity.count() - window_bytes_;
    const std::int64_t upper =
        segments == 1 ? 0 : share_of(Bytes(main_bytes), setting.options.real("protected")) / (segments - 1);
    this->use_segments(window + 1, static_cast<int>(segments), main_bytes - upper * (segments - 1), upper);
  }

 private:
  static constexpr std::uint32_t window = 1;
  /// Fewer requests than these give no chance against a sample that was requested more often.
  static constexpr int least_for_chance = 6;

  void count(Row row) { sketch_.add(this->entries().id_of(row), samples_); }
  void touch(Row row) {
    const bool is_in_window = this->entry(row).list == window;
    if (!is_in_window || counts_window_) count(row);
    if (is_in_window)
      this->move_to_newest(window, row);
    else
      this->promote(row);
  }
  typename Base::Nothing recall(Row row, std::int64_t) {
    count(row);
    return {};
  }
  /// A sample larger than the window's share has the window to itself.
  Row choose_next(typename Base::Nothing, std::int64_t size) {
    const std::int64_t main_bytes = this->capacity() - std::max(window_bytes_, size);
    while (this->list(window).count > 0 && this->list(window).bytes + size > window_bytes_) {
      const Row candidate = this->list(window).oldest;
      const std::int64_t in_main = this->used().count() - this->list(window).bytes;
      if (in_main + this->entry(candidate).size > main_bytes) return loser(candidate, in_main > 0);
      this->unlink(candidate);
      this->enter(candidate);
    }
    return this->used().count() + size > this->capacity() ? this->oldest_of_segments() : no_row;
  }
  /// The one that leaves the cache: the window's sample, or the one that would leave the main part. If their
  /// counts are equal, the latter stays.
  Row loser(Row candidate, bool has_resident) {
    if (!has_resident) return candidate;
    const Row resident = this->oldest_of_segments();
    const int wants = sketch_.estimate(this->entries().id_of(candidate));
    if (wants > sketch_.estimate(this->entries().id_of(resident))) return resident;
    const bool has_chance = chance_ > 0 && wants >= least_for_chance;
    return has_chance && random_.uniform() < chance_ ? resident : candidate;
  }
  void place(Row row, typename Base::Nothing) {
    this->link_newest(window, row);
    ++samples_;
  }
  void leave(Row row) {
    Base::leave(row);
    --samples_;
  }

  std::int64_t window_bytes_;
  bool counts_window_;
  double chance_;  ///< of a sample of the window with fewer requests than the other one
  std::int64_t samples_ = 0;
  FrequencySketch sketch_;
  Rng random_;
};

Catalog<Factory>::Entry w_tinylfu() {
  return {
      .name = "w-tinylfu",
      .summary = "a sample that leaves a small LRU window stays only if it is requested more than another",
      .paper =
          "Einziger, Friedman, Manes: TinyLFU: A Highly Efficient Cache Admission Policy. ACM Transactions "
          "on Storage 13(4), 2017",
      .options = {{"window", "share of the capacity for new samples", 0.01, 0.0, 1.0},
                  {"protected", "share of the rest for the segments above the lowest", 0.8, 0.0, 1.0},
                  {"segments", "number of segments of the rest", std::int64_t{2}, 1, most_segments},
                  {"most", "the largest count of the sketch; 15 takes four bits", std::int64_t{15}, 1, 255},
                  {"aging", "counted requests for each sample in the cache until counts are halved", 10.0,
                   1.0, 1e15},
                  {"count-window", "count requests for samples in the window", true},
                  {"chance",
                   "probability that a sample with six or more requests stays instead of one with more",
                   1.0 / 128, 0.0, 1.0}},
      .make = order_factory<WTinyLfu>()};
}

}  // namespace tandem::cache
