// Chunk-wise shuffle (DIESEL, ICPP 2020). The chunks of the data set are shuffled, then the samples within
// each group of chunks, so that the store reads whole chunks.
#include <algorithm>

#include "policies/sampling/samplers.hpp"

namespace tandem::sampling {
namespace {

class Chunked final : public Sampler {
 public:
  explicit Chunked(const SamplerSetting& setting)
      : setting_(setting),
        chunk_(setting.options.integer("chunk")),
        group_(setting.options.integer("group")) {}

  void list(std::int64_t epoch, const Known&, EpochList& list) const override {
    list.clear();
    Rng rng = Rng::stream(setting_.seed, "chunk order", static_cast<std::uint64_t>(epoch));
    auto chunks = ids_below((setting_.samples + chunk_ - 1) / chunk_);
    rng.shuffle(chunks);
    std::vector<SampleId> together;
    for (std::size_t first = 0; first < chunks.size(); first += static_cast<std::size_t>(group_)) {
      together.clear();
      const std::size_t end = std::min(chunks.size(), first + static_cast<std::size_t>(group_));
      for (std::size_t i = first; i < end; ++i)
        for (SampleId id = chunks[i] * chunk_; id < std::min(setting_.samples, (chunks[i] + 1) * chunk_);
             ++id)
          together.push_back(id);
      rng.shuffle(together);
      list.ids.insert(list.ids.end(), together.begin(), together.end());
    }
  }

 private:
  SamplerSetting setting_;
  std::int64_t chunk_;
  std::int64_t group_;
};

}  // namespace

Catalog<SamplerFactory>::Entry chunked() {
  return {
      .name = "chunked",
      .summary = "chunks of consecutive samples in random order, then the samples of each group of chunks",
      .paper =
          "Wang, Ye, Yang, Li, Wen, Zhang, Wang: DIESEL: A Dataset-Based Distributed Storage and Caching "
          "System for Large-Scale Deep Learning Training. ICPP 2020",
      .options = {{"chunk", "samples in a chunk", std::int64_t{256}, 1, 1e9},
                  {"group", "chunks whose samples are mixed", std::int64_t{8}, 1, 1e9}},
      .make = {.make = make_sampler<Chunked>, .visits_all = true}};
}

}  // namespace tandem::sampling
