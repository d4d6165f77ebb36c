// The samples that a training cache keeps in one tier, with their bytes. Makes no decisions.
#pragma once

#include "policies/cache/id_index.hpp"
#include "policies/cache/policy.hpp"

namespace tandem::cache {

class Kept {
 public:
  explicit Kept(Bytes capacity, int tier = 0) : capacity_(capacity), tier_(tier) {}

  bool holds(SampleId id) const { return index_.find(id) != IdIndex::none; }
  Bytes used() const { return used_; }
  Bytes room() const { return capacity_ - used_; }
  std::int64_t count() const { return static_cast<std::int64_t>(index_.size()); }

  /// Keeps a sample that is not here, if it fits.
  bool insert(SampleId id, Bytes size) {
    TANDEM_CHECK(size >= Bytes(0), "id", id, "size", size.count());
    if (size > room()) return false;
    index_.insert(id, 0);
    used_ += size;
    return true;
  }
  /// Pre: here.
  void remove(SampleId id, Bytes size) {
    index_.erase(id);
    used_ = used_ - size;
  }

  // The same, and adds it to the decisions.
  bool keep(SampleId id, Bytes size, Decisions& decisions) {
    if (!insert(id, size)) return false;
    decisions.keep(id, size, tier_);
    return true;
  }
  void drop(SampleId id, Bytes size, Decisions& decisions) {
    remove(id, size);
    decisions.drop(id, size, tier_);
  }
  /// Drops samples that were kept before they arrived and could not be read.
  void forget_failed(std::span<const Arrived> arrived, Decisions& decisions) {
    for (const Arrived& read : arrived)
      if (read.outcome != Arrived::Outcome::here && holds(read.id)) drop(read.id, read.size, decisions);
  }

 private:
  Bytes capacity_;
  Bytes used_{0};
  int tier_;
  IdIndex index_;  ///< used as a set: every row is 0
};

}  // namespace tandem::cache
