// Quiver (Kumar, Sivathanu, FAST 2020). A batch is formed of samples that hit among the next ones of the
// epoch. Hits come first, misses are put off, and each sample is still delivered once. The jobs of a data
// set work on the same two chunks of it. The next chunk is read when all jobs have used one up.
#include <algorithm>
#include <limits>
#include <numeric>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace {

/// Chunks of a data set in a random order. Two of them are in the cache.
class Chunks {
 public:
  Chunks(const Setting& setting, Bytes chunk)
      : manifest_(setting.manifest), chunk_of_(static_cast<std::size_t>(setting.manifest.samples)) {
    std::vector<SampleId> ids(static_cast<std::size_t>(manifest_.samples));
    std::iota(ids.begin(), ids.end(), SampleId{0});
    Rng::stream(setting.seed, "chunks").shuffle(ids);
    Bytes used{0};
    for (const SampleId id : ids) {
      const Bytes size = manifest_.size_of(id);
      if (chunks_.empty() || used + size > chunk) {
        chunks_.emplace_back();
        used = Bytes(0);
      }
      chunks_.back().push_back(id);
      chunk_of_[static_cast<std::size_t>(id)] = chunks_.size() - 1;
      used += size;
    }
  }
  std::size_t count() const { return chunks_.size(); }
  const std::vector<SampleId>& ids(std::size_t number) const { return chunks_[number % count()]; }
  bool has(std::size_t number, SampleId id) const {
    return chunk_of_[static_cast<std::size_t>(id)] == number % count();
  }

 private:
  Manifest manifest_;
  std::vector<std::vector<SampleId>> chunks_;
  std::vector<std::size_t> chunk_of_;  ///< by id
};

class Quiver final : public CachePolicy {
 public:
  explicit Quiver(const Setting& setting)
      : setting_(setting),
        look_ahead_(setting.options.integer("look_ahead")),
        straggler_(setting.options.real("straggler")),
        is_chunked_(setting.options.text("content") == "chunks"),
        kept_(setting.capacity()),
        chunks_(setting, setting.capacity() / 2),
        jobs_(static_cast<std::size_t>(setting.jobs)) {}

  void on_job(const JobChange& change, Decisions& decisions) override {
    jobs_[static_cast<std::size_t>(change.job)].is_active = change.state != JobChange::State::ends;
    if (is_chunked_) advance(decisions);
  }

  void on_want(const Want& want, Decisions& decisions) override {
    Job& job = jobs_[static_cast<std::size_t>(want.job)];
    job.is_active = true;
    find_hits(want);
    std::size_t next_hit = 0;
    for (const auto& [asked, size] : want.now) {
      SampleId given = asked;
      if (!kept_.holds(asked) && next_hit < hits_.size()) given = hits_[next_hit++];
      serve(asked, given, decisions);
      if (is_chunked_ && kept_.holds(given)) ++job.used[chunks_.has(first_, given) ? 0 : 1];
    }
    if (is_chunked_) advance(decisions);
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    kept_.forget_failed(arrived, decisions);
  }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  struct Job {
    bool is_active = false;
    std::array<std::int64_t, 2> used = {};  ///< samples of the two chunks, since each came
  };

  /// Finds the first samples ahead that are here, as many as the batch has misses. Samples of the older
  /// chunk come first, so that it is used up.
  void find_hits(const Want& want) {
    hits_.clear();
    const auto misses = static_cast<std::size_t>(
        std::ranges::count_if(want.now, [this](const Sample& sample) { return !kept_.holds(sample.id); }));
    const auto seen =
        std::min(want.ahead.size(), static_cast<std::size_t>(look_ahead_ - 1) * want.now.size());
    const auto collect = [&](bool older) {
      for (std::size_t i = 0; i < seen && hits_.size() < misses; ++i) {
        const SampleId id = want.ahead[i];
        if (kept_.holds(id) && (!is_chunked_ || chunks_.has(first_, id) == older)) hits_.push_back(id);
      }
    };
    if (is_chunked_) collect(true);
    collect(false);
  }

  void serve(SampleId asked, SampleId given, Decisions& decisions) {
    const bool is_here = kept_.holds(given);
    decisions.serve.push_back({asked, given, is_here ? tier(0) : store(), asked != given});
    if (!is_here && !is_chunked_) kept_.keep(given, setting_.manifest.size_of(given), decisions);
  }

  /// Replaces the older chunk when all jobs have used it up since it came, except for a few samples.
  void advance(Decisions& decisions) {
    if (std::ranges::none_of(jobs_, &Job::is_active)) return;
    while (loaded_ < 2 && loaded_ < chunks_.count()) load(loaded_++, decisions);
    if (chunks_.count() <= 2) return;
    const auto& oldest = chunks_.ids(first_);
    const double enough = (1 - straggler_) * static_cast<double>(oldest.size());
    for (const Job& job : jobs_)
      if (job.is_active && static_cast<double>(job.used[0]) < enough) return;
    for (Job& job : jobs_) job.used = {job.used[1], 0};
    for (const SampleId id : oldest)
      if (kept_.holds(id)) kept_.drop(id, setting_.manifest.size_of(id), decisions);
    load(++first_ + 1, decisions);
  }
  void load(std::size_t number, Decisions& decisions) {
    read_.clear();
    for (const SampleId id : chunks_.ids(number))
      if (!kept_.holds(id) && kept_.keep(id, setting_.manifest.size_of(id), decisions)) read_.push_back(id);
    if (!read_.empty()) decisions.read(read_, store(), Why::package);
  }

  Setting setting_;
  std::int64_t look_ahead_;
  double straggler_;
  bool is_chunked_;
  Kept kept_;
  Chunks chunks_;
  std::size_t first_ = 0;   ///< the older of the two chunks in the cache
  std::size_t loaded_ = 0;  ///< chunks that were loaded at the start
  std::vector<Job> jobs_;
  std::vector<SampleId> hits_;  ///< scratch, as the next one
  std::vector<SampleId> read_;
};

}  // namespace

Catalog<Factory>::Entry quiver() {
  return {
      .name = "quiver",
      .summary =
          "forms batches of samples that hit among the next ones; jobs share the chunks of the data set that "
          "are in the cache",
      .paper = "Kumar, Sivathanu: Quiver: An Informed Storage Cache for Deep Learning. FAST 2020",
      .options = {{"look_ahead", "batches among whose samples hits are looked for", std::int64_t{10}, 1, 1e6},
                  {"content",
                   "static: the first samples that fit; chunks: two chunks of the data set, of which one "
                   "is replaced when all jobs have used it up",
                   std::string("static"),
                   -std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity(),
                   {"static", "chunks"}},
                  {"straggler", "share of a chunk that a job may leave unused when it is replaced", 0.05, 0.0,
                   1.0}},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<Quiver>(setting);
               },
               .needs = {.manifest = true, .ahead = true},
               .replaces = true}};
}

}  // namespace tandem::cache
