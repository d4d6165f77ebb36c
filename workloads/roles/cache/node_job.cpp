#include "workloads/roles/cache/node_job.hpp"

#include <utility>
#include <vector>

namespace tandem {

void NodeJob::note_request(std::int64_t of_epoch) {
  first_epoch = std::min(first_epoch, of_epoch);
  if (const Seconds at_start = std::exchange(read_at_start, {}); at_start > Seconds(0))
    record(first_epoch, background_row).reading += at_start;
}

void NodeJob::note_background(std::int64_t of_epoch, Seconds duration) {
  if (has_first_epoch())
    record(row_epoch(of_epoch), background_row).reading += duration;
  else
    read_at_start += duration;
}

void NodeJob::record_background(const CacheEngine& engine) {
  if (!data.cache_factory().needs.manifest || !has_first_epoch()) return;
  for (std::int64_t of_epoch = 0; of_epoch <= newest_epoch(); ++of_epoch) {
    const CacheLedger& ledger = engine.ledger(number, of_epoch);
    CacheLedger& before = recorded[of_epoch];
    const auto add_new = [&](std::string_view row, const SampleCount& now, const SampleCount& then) {
      if (now != then) add(row_epoch(of_epoch), row, {now.samples - then.samples, now.bytes - then.bytes});
    };
    add_new(background_row, ledger.read_in_background(), before.read_in_background());
    add_new(wasted_row, ledger.wasted, before.wasted);
    before = ledger;
  }
}

void NodeJob::record_most(const CacheEngine& engine, double epochs) {
  const bool reads_ahead = engine.total().read_in_background().samples > 0;
  if (!has_first_epoch() || !order.is_complete() || reads_ahead) return;
  const std::int64_t first = first_epoch, last = last_epoch;
  const bool is_complete = epochs == static_cast<double>(last + 1);
  std::vector<std::pair<std::int64_t, std::int64_t>> parts = {{first, first}};
  if (last > first) parts.emplace_back(first + 1, last);
  if (last > first + 1 && !is_complete) parts.emplace_back(first + 1, last - 1);
  journal.later.emplace_back([&of = data, node = rank, requests = std::move(order), parts](Journal& all) {
    const cache::Manifest& manifest = of.manifest();
    for (const auto& [begin, end] : parts) {
      CacheRecord& row = cache_record(all.caches, node, end, std::string(belady_row));
      row.bytes = requests.most_from_tiers(begin, end, of.cache_tiers(), manifest).count();
      if (manifest.sizes.empty() && manifest.each > Bytes(0)) row.samples = row.bytes / manifest.each.count();
    }
  });
}

}  // namespace tandem
