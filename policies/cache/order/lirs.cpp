// LIRS (Jiang, Zhang, SIGMETRICS 2002). Samples with a short distance between their last two requests (LIR)
// fill almost the whole cache. The others (HIR) pass through a short queue, from which samples are evicted.
// A stack of recency, which also remembers evicted samples, shows when a HIR sample has become better than
// the worst LIR one.
#include <algorithm>

#include "policies/cache/order/order_entry.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {

/// A sample can be in the stack and in the queue.
struct LirsEntry : Entry {
  enum class Kind : std::uint8_t { unknown, lir, resident_hir, remembered_hir };
  Kind kind = Kind::unknown;
  Row next = no_row;  ///< in the queue, or in that of remembered samples
  Row previous = no_row;
};

template <class Ids>
class Lirs final : public Order<Lirs<Ids>, Ids, 1, LirsEntry> {
  using Base = Order<Lirs, Ids, 1, LirsEntry>;
  friend Base;
  using Kind = LirsEntry::Kind;

 public:
  explicit Lirs(const OrderSetting& setting)
      : Base(setting),
        queue_bytes_(
            std::min(setting.capacity.count(),
                     std::max<std::int64_t>(1, share_of(setting.capacity, setting.options.real("hir"))))),
        stack_bytes_(share_of(setting.capacity, setting.options.real("stack"))) {}

 private:
  static constexpr std::uint32_t stack = 1, queue_only = 2;

  bool is_resident(const LirsEntry& entry) const {
    return entry.kind == Kind::lir || entry.kind == Kind::resident_hir;
  }
  bool is_in_stack(Row row) const { return this->entry(row).list == stack; }

  void touch(Row row) {
    auto& entry = this->entry(row);
    const bool was_in_stack = is_in_stack(row);
    if (was_in_stack)
      this->move_to_newest(stack, row);
    else
      this->link_newest(stack, row);
    if (entry.kind == Kind::lir) return prune();
    leave(resident_, row);
    if (was_in_stack) {
      become_lir(row);
      demote();
    } else {
      join(resident_, row);
    }
  }

  /// Whether the sample, which is not here, is remembered.
  bool recall(Row row, std::int64_t) {
    const bool is_remembered = this->entry(row).kind == Kind::remembered_hir;
    if (is_remembered) {
      this->unlink(row);
      leave(remembered_, row);
      this->entry(row).kind = Kind::unknown;
    }
    return is_remembered;
  }
  Row choose(bool) {
    if (resident_.first == no_row) demote_bottom();
    return resident_.first;
  }
  void leave(Row row) {
    auto& entry = this->entry(row);
    if (entry.kind == Kind::lir) {
      lir_bytes_ -= entry.size;
    } else {
      leave(resident_, row);
    }
    if (is_in_stack(row) && entry.kind == Kind::resident_hir) {
      entry.kind = Kind::remembered_hir;
      join(remembered_, row);
      return;
    }
    if (is_in_stack(row)) this->unlink(row);
    forget(row);
    prune();
  }
  void place(Row row, bool is_remembered) {
    auto& entry = this->entry(row);
    this->link_newest(stack, row);
    bound_stack();
    if (lir_bytes_ + entry.size <= this->capacity() - queue_bytes_) return become_lir(row);
    if (is_remembered) {
      become_lir(row);
      return demote();
    }
    entry.kind = Kind::resident_hir;
    join(resident_, row);
  }

  void become_lir(Row row) {
    this->entry(row).kind = Kind::lir;
    lir_bytes_ += this->entry(row).size;
  }
  /// The bottom LIR samples become HIR until the others fit into their share.
  void demote() {
    while (lir_bytes_ > this->capacity() - queue_bytes_) demote_bottom();
  }
  /// Pre: there is a LIR sample.
  void demote_bottom() {
    prune();
    const Row bottom = this->list(stack).oldest;
    lir_bytes_ -= this->entry(bottom).size;
    this->entry(bottom).kind = Kind::resident_hir;
    this->unlink(bottom);
    this->entry(bottom).list = queue_only;
    join(resident_, bottom);
    prune();
  }
  /// Takes HIR samples off the bottom of the stack.
  void prune() {
    while (this->list(stack).count > 0) {
      const Row bottom = this->list(stack).oldest;
      const Kind kind = this->entry(bottom).kind;
      if (kind == Kind::lir) return;
      this->unlink(bottom);
      if (kind == Kind::resident_hir) {
        this->entry(bottom).list = queue_only;
        continue;
      }
      leave(remembered_, bottom);
      forget(bottom);
    }
  }
  /// Keeps the stack within its bytes.
  void bound_stack() {
    while (this->list(stack).bytes > stack_bytes_ && remembered_.first != no_row) {
      const Row oldest = remembered_.first;
      leave(remembered_, oldest);
      this->unlink(oldest);
      forget(oldest);
    }
  }
  void forget(Row row) {
    this->entry(row).kind = Kind::unknown;
    this->entry(row).list = 0;
    this->entries().drop(row);
  }

  struct Queue {
    Row first = no_row;
    Row last = no_row;
  };
  void join(Queue& queue, Row row) {
    auto& entry = this->entry(row);
    entry.previous = queue.last;
    entry.next = no_row;
    (queue.last == no_row ? queue.first : this->entry(queue.last).next) = row;
    queue.last = row;
  }
  void leave(Queue& queue, Row row) {
    auto& entry = this->entry(row);
    (entry.previous == no_row ? queue.first : this->entry(entry.previous).next) = entry.next;
    (entry.next == no_row ? queue.last : this->entry(entry.next).previous) = entry.previous;
  }

  std::int64_t queue_bytes_;  ///< share of the HIR samples
  std::int64_t stack_bytes_;  ///< with evicted samples, at most
  std::int64_t lir_bytes_ = 0;
  Queue resident_;    ///< HIR samples that are here
  Queue remembered_;  ///< HIR samples that are not, in the order in which they left
};

Catalog<Factory>::Entry lirs() {
  return {
      .name = "lirs",
      .summary = "keeps samples with a short distance between their last two requests",
      .paper =
          "Jiang, Zhang: LIRS: An Efficient Low Inter-reference Recency Set Replacement Policy to Improve "
          "Buffer Cache Performance. SIGMETRICS 2002",
      .options = {{"hir", "share of the capacity for samples with a long distance", 0.01, 0.0, 1.0},
                  {"stack", "bytes of the stack with evicted samples, relative to the capacity", 2.0, 0.0,
                   100.0}},
      .make = order_factory<Lirs>()};
}

}  // namespace tandem::cache
