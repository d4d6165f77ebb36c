// MinIO (Mohan, Phanishayee, Raniwala, Chidambaram, PVLDB 14(5), 2021). A sample is kept if there is room for
// it, and never evicted. So in each epoch after the first, every sample in the cache is hit once.
#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"

namespace tandem::cache {
namespace {

class Minio final : public CachePolicy {
 public:
  explicit Minio(Bytes capacity) : kept_(capacity) {}

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      const bool is_hit = kept_.holds(id);
      decisions.serve.push_back({id, id, is_hit ? tier(0) : store()});
      if (!is_hit) kept_.keep(id, size, decisions);
    }
  }
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    kept_.forget_failed(arrived, decisions);
  }
  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  Kept kept_;
};

Counts replay_minio(const Trace& trace, const ReplaySetting& setting) {
  Kept kept(setting.capacity);
  Counts counts;
  Admission admission(setting.admission, trace.ids, setting.seed);
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const auto [id, size] = trace.requests[i];
    const bool is_hit = kept.holds(id);
    if (i >= setting.warm_up) counts.add(size, is_hit);
    if (!is_hit && admission.admits(trace.requests[i])) kept.insert(id, Bytes(size));
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
                   .replay = replay_minio},
          .aliases = {"coordl"}};
}

}  // namespace tandem::cache
