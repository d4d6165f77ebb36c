#include "workloads/roles/cache/delivery_log.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/id_text.hpp"

namespace tandem {

DeliveryLog::DeliveryLog(const cache::Manifest& manifest, Rank rank, Journal& journal, std::size_t clients)
    : manifest_(manifest), rank_(rank), journal_(journal), epoch_of_(clients, 0) {}

void DeliveryLog::note(std::size_t client, std::int64_t epoch, std::span<const SampleId> requested,
                       std::span<const cache::Serve> serves) {
  TANDEM_CHECK(requested.size() == serves.size(), "requested", requested.size(), "served", serves.size());
  if (std::exchange(epoch_of_[client], epoch) != epoch) close_left_epochs();
  Epoch& open = open_[epoch];
  for (std::size_t i = 0; i < serves.size(); ++i) {
    const SampleId asked = requested[i], given = serves[i].given;
    if (asked != given && open.delivered.empty()) open.delivered = open.requested;
    const bool differs = asked != given || !open.delivered.empty();
    open.requested.push_back(asked);
    if (differs) open.delivered.push_back(given);
  }
}

void DeliveryLog::note(std::size_t client, std::int64_t epoch, std::span<const SampleId> delivered) {
  std::vector<cache::Serve> serves;
  for (const SampleId id : delivered) serves.push_back({.asked = id, .given = id, .from = cache::store()});
  note(client, epoch, delivered, serves);
}

void DeliveryLog::end(std::size_t client) {
  epoch_of_[client] = std::numeric_limits<std::int64_t>::max();
  close_left_epochs();
}

void DeliveryLog::close_left_epochs() {
  const std::int64_t oldest = epoch_of_.empty() ? 0 : std::ranges::min(epoch_of_);
  while (!open_.empty() && open_.begin()->first < oldest) {
    close(open_.begin()->first, open_.begin()->second);
    open_.erase(open_.begin());
  }
}

void DeliveryLog::close(std::int64_t number, Epoch& epoch) {
  DeliveryRecord record{.rank = rank_, .epoch = number, .set = manifest_.samples};
  std::ranges::sort(epoch.requested);
  SampleId before = -1;
  for (const SampleId id : epoch.requested) {
    const std::int64_t size = manifest_.size_of(id).count();
    ++record.samples;
    record.bytes += size;
    if (std::exchange(before, id) != id) record.distinct_bytes += size;
  }
  record.requested = id_text(std::move(epoch.requested));
  std::string delivered = id_text(std::move(epoch.delivered));
  if (delivered != record.requested) record.delivered = std::move(delivered);
  journal_.deliveries.push_back(std::move(record));
}

}  // namespace tandem
