// MinIO (Mohan, Phanishayee, Raniwala, Chidambaram, PVLDB 14(5), 2021). A sample is kept if there is room for
// it, and never evicted. So in each epoch after the first, every sample in the cache is hit once.
#include "policies/cache/id_index.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {
namespace {

/// The samples in the cache.
class Kept {
 public:
  explicit Kept(Bytes capacity) : capacity_(capacity) {}
  bool holds(SampleId id) const { return index_.find(id) != IdIndex::none; }
  Bytes used() const { return used_; }
  /// Keeps a sample that is not here, if it fits.
  bool insert(SampleId id, Bytes size) {
    TANDEM_CHECK(size >= Bytes(0), "id", id, "size", size.count());
    if (size > capacity_ - used_) return false;
    index_.insert(id, 0);
    used_ += size;
    return true;
  }
  void remove(SampleId id, Bytes size) {
    index_.erase(id);
    used_ = used_ - size;
  }

 private:
  Bytes capacity_;
  Bytes used_{0};
  IdIndex index_;  ///< used as a set: every slot is 0
};

class Minio final : public CachePolicy {
 public:
  explicit Minio(Bytes capacity) : kept_(capacity) {}

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      const bool is_hit = kept_.holds(id);
      decisions.serve.push_back({id, id, is_hit ? tier(0) : store()});
      if (!is_hit && kept_.insert(id, size)) decisions.keep(id, size);
    }
  }
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (const Arrived& read : arrived) {
      if (read.outcome == Arrived::Outcome::here || !kept_.holds(read.id)) continue;
      kept_.remove(read.id, read.size);
      decisions.drop(read.id, read.size);
    }
  }
  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int tier) const override { return tier == 0 ? kept_.used() : Bytes(0); }

 private:
  Kept kept_;
};

Counts replay_minio(const Trace& trace, const ReplaySetting& setting) {
  Kept kept(setting.capacity);
  Counts counts;
  for (const auto& [id, size] : trace.requests) {
    const bool is_hit = kept.holds(id);
    counts.add(size, is_hit);
    if (!is_hit) kept.insert(id, Bytes(size));
  }
  counts.largest_used = kept.used().count();
  return counts;
}

}  // namespace

Catalog<Factory>::Entry minio() {
  return {.name = "minio",
          .summary =
              "keeps the first samples that fit and never evicts, so that a data set larger than the "
              "cache does not cause thrashing",
          .paper =
              "Mohan, Phanishayee, Raniwala, Chidambaram: Analyzing and Mitigating Data Stalls in DNN "
              "Training. PVLDB 14(5), 2021",
          .options = {},
          .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                     return std::make_unique<Minio>(setting.capacity());
                   },
                   .replay = replay_minio}};
}

}  // namespace tandem::cache
