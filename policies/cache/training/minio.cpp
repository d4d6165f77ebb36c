// MinIO: no sample is ever evicted, so each warm epoch hits all that is kept. Source: Mohan, Phanishayee,
// Raniwala, Chidambaram, PVLDB 14(5), 2021.
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
    // Two requests may miss before the first fetch ends; the second then finds the sample kept already.
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

}  // namespace

std::unique_ptr<CachePolicy> make_minio(const Setting& setting) {
  return std::make_unique<Minio>(setting.capacity);
}

}  // namespace tandem::cache
