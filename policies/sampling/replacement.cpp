// As many uniform draws as there are samples, with replacement: an epoch sees about 63 % of the samples, some
// of them several times.
#include "policies/sampling/samplers.hpp"

namespace tandem::sampling {
namespace {

class Replacement final : public Sampler {
 public:
  explicit Replacement(const SamplerSetting& setting) : setting_(setting) {}
  void list(std::int64_t epoch, const Known&, EpochList& list) const override {
    list.clear();
    Rng rng = Rng::stream(setting_.seed, "draws", static_cast<std::uint64_t>(epoch));
    list.ids.resize(static_cast<std::size_t>(setting_.samples));
    for (SampleId& id : list.ids)
      id = static_cast<SampleId>(rng.below(static_cast<std::uint64_t>(setting_.samples)));
  }

 private:
  SamplerSetting setting_;
};

}  // namespace

Catalog<SamplerFactory>::Entry replacement() {
  return {.name = "replacement",
          .summary = "as many uniform draws with replacement as there are samples",
          .paper = "",
          .options = {},
          .make = {.make = make_sampler<Replacement>, .may_repeat = true}};
}

}  // namespace tandem::sampling
