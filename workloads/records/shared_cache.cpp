#include "workloads/records/shared_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "workloads/records/cache_rows.hpp"

namespace tandem {
namespace {

double share(std::int64_t part, std::int64_t all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

SharedCache::Use sum_of(const SharedCache& cache) {
  SharedCache::Use sum;
  for (const SharedCache::Use& job : cache.jobs) {
    sum.requests += job.requests;
    sum.hits += job.hits;
    sum.requested_bytes += job.requested_bytes;
    sum.hit_bytes += job.hit_bytes;
  }
  return sum;
}

}  // namespace

double SharedCache::bound() const {
  double longest = 0.0;
  for (const Use& job : jobs)
    longest = std::max(longest, std::floor(share(job.requested_bytes, set.count())));
  const auto all = static_cast<double>(sum_of(*this).requested_bytes);
  const auto beyond = static_cast<double>(std::max<std::int64_t>(0, (set - capacity).count()));
  // What no cache held as the jobs began comes from the store once.
  const double cold = longest > 0.0 ? static_cast<double>(set.count()) - beyond : 0.0;
  return 1.0 - (longest * beyond + cold) / all;
}

bool SharedCache::has_bound() const { return visits_all && std::ranges::none_of(jobs, &Use::reads_ahead); }

SharedCache::Use use_of_cache(const std::string& job, const Journal& journal) {
  SharedCache::Use use{.job = job};
  CacheRecord with, without;
  const auto add = [](CacheRecord& sum, const CacheRecord& record) {
    sum.samples += record.samples;
    sum.blocked += record.blocked;
  };
  for (const CacheRecord& record : journal.caches) {
    if (record.from == probe_with_row) add(with, record);
    if (record.from == probe_without_row) add(without, record);
    if (record.from == background_row && record.samples > 0) use.reads_ahead = true;
    if (!counts_delivered(record.from)) continue;
    use.requests += record.samples;
    use.requested_bytes += record.bytes;
    if (!record.from.starts_with("tier")) continue;
    use.hits += record.samples;
    use.hit_bytes += record.bytes;
  }
  if (with.samples > 0 && without.blocked > Seconds(0)) {
    const auto mean = [](const CacheRecord& sum) { return sum.blocked / static_cast<double>(sum.samples); };
    use.benefit = std::max(0.0, (mean(without) - mean(with)) / mean(without));
  }
  return use;
}

std::optional<SharedCacheSummary> shared_cache_summary(const SharedCache& cache) {
  const SharedCache::Use all = sum_of(cache);
  if (all.requests == 0) return std::nullopt;
  SharedCacheSummary summary{.requests = all.requests,
                             .hit_ratio = share(all.hits, all.requests),
                             .byte_hit_ratio = share(all.hit_bytes, all.requested_bytes)};
  for (const SharedCache::Use& job : cache.jobs) {
    SharedCacheSummary::Job& own = summary.jobs[job.job];
    own = {.requests = job.requests, .benefit = job.benefit};
    if (job.requests > 0) own.hit_ratio = share(job.hits, job.requests);
  }
  if (!cache.has_bound()) return summary;
  summary.bound = cache.bound();
  if (cache.bound() > 0.0) summary.attained = summary.byte_hit_ratio / cache.bound();
  return summary;
}

std::string shared_cache_text(const SharedCache& cache) {
  const SharedCache::Use all = sum_of(cache);
  if (all.requests == 0) return "";
  std::string text = fmt::format("  shared cache of {} jobs: {:.1f} % of the bytes hit", cache.jobs.size(),
                                 100 * share(all.hit_bytes, all.requested_bytes));
  if (cache.has_bound()) text += fmt::format(", at most {:.1f} % can", 100 * cache.bound());
  return text + '\n';
}

}  // namespace tandem
