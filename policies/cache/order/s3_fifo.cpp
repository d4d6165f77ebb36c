// S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023). New samples enter a small FIFO; those that are
// requested again there move to the main FIFO, the others leave and are remembered; a remembered sample is
// inserted into the main FIFO. In the main FIFO, samples that were requested are inserted again.
#include <algorithm>

#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

template <class Ids>
class S3Fifo final : public Order<S3Fifo<Ids>, Ids, 3> {
  using Base = Order<S3Fifo, Ids, 3>;
  friend Base;

 public:
  explicit S3Fifo(const OrderSetting& setting)
      : Base(setting),
        small_bytes_(share_of(setting.capacity, setting.options.real("small"))),
        remembered_bytes_(share_of(setting.capacity, setting.options.real("remembered"))),
        threshold_(static_cast<std::uint32_t>(setting.options.integer("threshold"))) {}

 private:
  enum List : std::uint32_t { small = 1, main = 2, remembered = 3 };
  static constexpr std::uint32_t most = 3;
  using Recalled = bool;

  bool admits(std::int64_t size) const { return size <= this->capacity(); }
  bool is_resident(const Entry& entry) const { return entry.list == small || entry.list == main; }
  void touch(Row row) {
    auto& count = this->entry(row).count;
    count = std::min(count + 1, most);
  }
  Recalled recall(Row row, std::int64_t) {
    const bool is_remembered = this->entry(row).list == remembered;
    if (is_remembered) this->unlink(row);
    return is_remembered;
  }
  Row choose(Recalled) {
    for (;;) {
      const bool from_main =
          this->list(main).bytes > this->capacity() - small_bytes_ || this->list(small).count == 0;
      const Row oldest = this->list(from_main ? main : small).oldest;
      auto& count = this->entry(oldest).count;
      if (count < (from_main ? 1 : threshold_)) return oldest;
      count = from_main ? count - 1 : 0;
      this->move_to_newest(main, oldest);
    }
  }
  void leave(Row row) {
    if (this->entry(row).list == main) return Base::leave(row);
    this->unlink(row);
    this->link_newest(remembered, row);
    while (this->list(remembered).bytes > remembered_bytes_) this->forget_oldest(remembered);
  }
  void place(Row row, Recalled is_remembered) {
    this->entry(row).count = 0;
    this->link_newest(is_remembered ? main : small, row);
  }

  std::int64_t small_bytes_;
  std::int64_t remembered_bytes_;
  std::uint32_t threshold_;  ///< requests in the small FIFO that move a sample to the main one
};

Catalog<Factory>::Entry s3_fifo() {
  return {
      .name = "s3-fifo",
      .summary = "a small FIFO filters new samples for a main FIFO",
      .paper = "Yang, Zhang, Qiu, Yue, Rashmi: FIFO Queues are All You Need for Cache Eviction. SOSP 2023",
      .options = {{"small", "share of the capacity for new samples", 0.1, 0.0, 1.0},
                  {"remembered", "bytes of remembered samples, relative to the capacity", 0.9, 0.0, 10.0},
                  {"threshold", "requests in the small FIFO that move a sample to the main one",
                   std::int64_t{2}, 1, 3}},
      .make = order_factory<S3Fifo>()};
}

}  // namespace tandem::cache
