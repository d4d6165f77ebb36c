// Every sample once, in a new random order each epoch, which all workers share.
#include "policies/sampling/samplers.hpp"

namespace tandem::sampling {
namespace {

class Shuffled final : public Sampler {
 public:
  explicit Shuffled(const SamplerSetting& setting) : setting_(setting) {}
  void list(std::int64_t epoch, const Known&, EpochList& list) const override {
    list.clear();
    list.ids = permutation(setting_, epoch);
  }

 private:
  SamplerSetting setting_;
};

}  // namespace

Catalog<SamplerFactory>::Entry shuffled() {
  return {.name = "shuffled",
          .summary = "all samples in a new random order each epoch, dealt to the workers in turn",
          .paper = "",
          .options = {},
          .make = {.make = make_sampler<Shuffled>, .visits_all = true}};
}

}  // namespace tandem::sampling
