// MinIO (Mohan, Phanishayee, Raniwala, Chidambaram, PVLDB 14(5), 2021). A sample is kept if there is room
// for it in a tier, and never evicted. So in each epoch after the first, every sample in the cache is hit
// once.
#include <algorithm>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"

namespace tandem::cache {
namespace {

class Minio final : public CachePolicy {
 public:
  explicit Minio(const Setting& setting) : node_(setting.node), manifest_(setting.manifest) {
    for (const Bytes capacity : setting.tiers) kept_.emplace_back(capacity, static_cast<int>(kept_.size()));
  }

  void on_want(const Want& want, Decisions& decisions) override {
    for (const auto& [id, size] : want.now) {
      const auto tier = holder(id);
      const bool is_hit = tier != kept_.end();
      decisions.serve.push_back(
          {id, id, is_hit ? cache::tier(static_cast<int>(tier - kept_.begin())) : store()});
      if (!is_hit) std::ranges::any_of(kept_, [&](Kept& each) { return each.keep(id, size, decisions); });
    }
  }
  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (Kept& each : kept_) each.forget_failed(arrived, decisions);
  }
  /// As a node begins, the samples that it still holds are in its second tier.
  void on_directory(std::span<const Holder> holders, Decisions& decisions) override {
    for (const auto& [id, node] : holders)
      if (node == node_ && kept_.size() > 1 && !holds(id))
        kept_[1].keep(id, manifest_.size_of(id), decisions);
  }
  bool holds(SampleId id) const override { return holder(id) != kept_.end(); }
  Bytes used(int tier) const override {
    const auto number = static_cast<std::size_t>(tier);
    return number < kept_.size() ? kept_[number].used() : Bytes(0);
  }

 private:
  std::vector<Kept>::const_iterator holder(SampleId id) const {
    return std::ranges::find_if(kept_, [id](const Kept& each) { return each.holds(id); });
  }

  int node_;
  Manifest manifest_;
  std::vector<Kept> kept_;  ///< by tier
};

Counts replay_minio(const Trace& trace, const ReplaySetting& setting) {
  Kept kept(setting.capacity);
  Counts counts;
  Admission admission(setting.admission, trace.ids, setting.seed);
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    const auto [id, size] = trace.requests[i];
    const bool is_hit = kept.holds(id);
    if (i >= setting.warm_up) counts.add(size, is_hit);
    if (is_hit || !admission.admits(trace.requests[i]) || kept.insert(id, Bytes(size))) continue;
    if (size <= setting.capacity.count()) counts.note_full();
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
                     return std::make_unique<Minio>(setting);
                   },
                   .replay = replay_minio},
          .aliases = {"coordl"}};
}

}  // namespace tandem::cache
