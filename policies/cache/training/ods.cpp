// Opportunistic data sampling of Seneca (Desai, Jiao, Pei, Bhimani, Kim, FAST 2026). In each batch, samples
// that miss change places with samples of the epoch that hit and that the job has not seen. A sample that
// all jobs have used is evicted, and a random one is read in its place. Its division of the cache among
// encoded, decoded and augmented data is not part of this policy.
#include <algorithm>

#include "policies/cache/policies.hpp"
#include "policies/cache/training/kept.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::cache {
namespace {

class Ods final : public CachePolicy {
 public:
  explicit Ods(const Setting& setting)
      : setting_(setting),
        random_(Rng::stream(setting.seed, "ods", static_cast<std::uint64_t>(setting.node))),
        kept_(setting.capacity()),
        place_(static_cast<std::size_t>(setting.manifest.samples), none),
        uses_(place_.size()),
        jobs_(static_cast<std::size_t>(setting.jobs)) {
    for (Job& job : jobs_) job.due_in.resize(place_.size());
  }

  void on_job(const JobChange& change, Decisions&) override {
    jobs_[static_cast<std::size_t>(change.job)].is_active = change.state != JobChange::State::ends;
  }

  void on_epoch(const EpochBegins& event, Decisions&) override {
    Job& job = jobs_[static_cast<std::size_t>(event.job)];
    job.is_active = true;
    job.epoch = event.epoch;
    // The epoch still needs the samples of this node's list that were not delivered yet.
    for (const SampleId id : event.lists[static_cast<std::size_t>(setting_.node)])
      job.due_in[index(id)] = stamp(job);
  }

  void on_want(const Want& want, Decisions& decisions) override {
    Job& job = jobs_[static_cast<std::size_t>(want.job)];
    // Samples that this batch itself delivers are no candidates.
    for (const Sample& sample : want.now) job.due_in[index(sample.id)] = 0;
    for (const auto& [asked, size] : want.now) {
      SampleId given = asked;
      if (!kept_.holds(asked)) given = hit_for(job, asked);
      const bool is_here = kept_.holds(given);
      decisions.serve.push_back({asked, given, is_here ? tier(0) : store(), given != asked});
      if (given != asked) {
        job.due_in[index(asked)] = stamp(job);
        job.due_in[index(given)] = 0;
      }
      if (!is_here) insert(given, decisions);
      if (kept_.holds(given)) count_use(given, decisions);
    }
  }

  void on_arrived(std::span<const Arrived> arrived, Decisions& decisions) override {
    for (const Arrived& read : arrived)
      if (read.outcome != Arrived::Outcome::here && kept_.holds(read.id)) remove(read.id, decisions);
  }

  /// Reads random samples that a job has not seen yet in the places of evicted ones.
  void on_idle(Bytes room, Decisions& decisions) override {
    for (int tried = 0; left_ > 0 && tried < 4 * probes; ++tried) {
      const auto id = static_cast<SampleId>(random_.below(place_.size()));
      const Bytes size = setting_.manifest.size_of(id);
      const bool is_due = std::ranges::any_of(jobs_, [&](const Job& job) { return job.is_due(id); });
      if (!is_due || kept_.holds(id) || size > room) continue;
      if (!insert(id, decisions)) return;
      decisions.read(id, store(), Why::refill);
      room = room - size;
      --left_;
    }
  }

  bool holds(SampleId id) const override { return kept_.holds(id); }
  Bytes used(int) const override { return kept_.used(); }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  static constexpr int probes = 64;  ///< random residents that are looked at for one miss

  struct Job {
    bool is_active = false;
    std::int64_t epoch = 0;
    std::vector<std::uint32_t> due_in;  ///< by id: epoch + 1 while the sample is to be delivered
    bool is_due(SampleId id) const {
      return is_active && due_in[static_cast<std::size_t>(id)] == static_cast<std::uint32_t>(epoch + 1);
    }
  };

  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }
  static std::uint32_t stamp(const Job& job) { return static_cast<std::uint32_t>(job.epoch + 1); }

  /// A random resident that the epoch still needs, or the wanted sample.
  SampleId hit_for(const Job& job, SampleId asked) {
    for (int i = 0; i < probes && !residents_.empty(); ++i) {
      const SampleId id = residents_[random_.below(residents_.size())];
      if (job.is_due(id)) return id;
    }
    return asked;
  }

  bool insert(SampleId id, Decisions& decisions) {
    if (!kept_.keep(id, setting_.manifest.size_of(id), decisions)) return false;
    place_[index(id)] = static_cast<std::uint32_t>(residents_.size());
    residents_.push_back(id);
    uses_[index(id)] = 0;
    return true;
  }
  void remove(SampleId id, Decisions& decisions) {
    kept_.drop(id, setting_.manifest.size_of(id), decisions);
    const std::uint32_t at = place_[index(id)];
    residents_[at] = residents_.back();
    place_[index(residents_[at])] = at;
    residents_.pop_back();
    place_[index(id)] = none;
  }
  void count_use(SampleId id, Decisions& decisions) {
    const auto active = std::ranges::count_if(jobs_, &Job::is_active);
    // With one job, every use would be the last one, and the cache would keep nothing for the next epoch.
    if (++uses_[index(id)] < active || active < 2) return;
    remove(id, decisions);
    ++left_;
  }

  Setting setting_;
  Rng random_;
  Kept kept_;
  std::vector<SampleId> residents_;
  std::vector<std::uint32_t> place_;  ///< by id, in `residents_`
  std::vector<std::uint16_t> uses_;   ///< by id, since it came
  std::vector<Job> jobs_;
  std::int64_t left_ = 0;  ///< samples that left and were not replaced
};

}  // namespace

Catalog<Factory>::Entry ods() {
  return {
      .name = "ods",
      .summary =
          "samples that miss change places with ones that hit and that the job has not seen; a sample that "
          "all jobs have used is replaced by a random one",
      .paper =
          "Desai, Jiao, Pei, Bhimani, Kim: Preparation Meets Opportunity: Enhancing Data Preprocessing for "
          "ML Training With Seneca. FAST 2026",
      .options = {},
      .make = {.node = [](const Setting& setting) -> std::unique_ptr<CachePolicy> {
                 return std::make_unique<Ods>(setting);
               },
               .needs = {.manifest = true, .ahead = true, .lists = true, .idle = true},
               .replaces = true}};
}

}  // namespace tandem::cache
