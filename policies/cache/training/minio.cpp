// MinIO (Mohan, Phanishayee, Raniwala, Chidambaram, PVLDB 14(5), 2021). A sample is kept if there is room for
// it, and never evicted. So in each epoch after the first, every sample in the cache is hit once.
#include "policies/cache/id_index.hpp"
#include "policies/cache/policies.hpp"

namespace tandem::cache {
namespace {

class Minio final : public CachePolicy {
 public:
  explicit Minio(Bytes capacity) : capacity_(capacity) {}

  Lookup on_request(SampleId id, Bytes) override { return {kept(id) ? Source::local : Source::storage}; }

  Admission on_fetched(SampleId id, Bytes size) override {
    TANDEM_CHECK(size >= Bytes(0), "id", id, "size", size.count());
    // Two requests may miss before the first fetch ends; when the second ends, the sample is in the cache.
    if (kept(id)) return {.keep = true};
    if (size > capacity_ - used_) return {};
    index_.insert(id, 0);
    used_ += size;
    return {.keep = true};
  }

  Bytes used() const override { return used_; }

 private:
  bool kept(SampleId id) const { return index_.find(id) != IdIndex::none; }

  Bytes capacity_;
  Bytes used_{0};
  IdIndex index_;  ///< used as a set: every slot is 0
};

Counts replay_minio(const Trace& trace, const ReplaySetting& setting) {
  Minio minio(setting.capacity);
  Counts counts;
  for (const auto& [id, size] : trace.requests) {
    const bool is_hit = minio.on_request(id, Bytes(size)).source == Source::local;
    counts.add(size, is_hit);
    if (!is_hit) minio.on_fetched(id, Bytes(size));
  }
  counts.largest_used = minio.used().count();
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
                     return std::make_unique<Minio>(setting.capacity);
                   },
                   .replay = replay_minio}};
}

}  // namespace tandem::cache
