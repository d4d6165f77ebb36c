#include "sim/all_reduce_rendezvous.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::sim {

void AllReduceRendezvous::sum() const {
  const auto has_memory = [](const Member& member) { return member.vector.data != nullptr; };
  if (std::none_of(members.begin(), members.end(), has_memory)) return;
  const auto bytes = static_cast<std::size_t>(size.count());
  std::vector<std::byte> total(bytes);
  std::vector<std::byte> own(bytes);
  const std::size_t part = bytes / members.size();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!has_memory(members[i])) continue;
    if (element.is_gathered()) {
      std::memcpy(total.data() + i * part, members[i].vector.data + i * part, part);
      continue;
    }
    std::memcpy(own.data(), members[i].vector.data, bytes);
    add_elements(host_device(), element, total.data(), own.data(), size.count() / element.bytes);
  }
  for (const Member& member : members)
    if (has_memory(member)) std::memcpy(member.vector.data, total.data(), bytes);
}

std::unique_ptr<AllReduceRendezvous> AllReduceRendezvousTable::join(std::span<const Rank> members,
                                                                    Channel channel, Rank rank,
                                                                    const AllReduceRendezvous::Member& self,
                                                                    const collectives::Element& element) {
  const auto found = std::find(members.begin(), members.end(), rank);
  TANDEM_CHECK(found != members.end(), "rank", rank, "members", members.size());
  const auto index = static_cast<std::size_t>(found - members.begin());
  Series& series = series_[{members.begin(), members.end()}];
  series.started.resize(members.size());
  const auto place = static_cast<std::size_t>(series.started[index]++ - series.met);
  if (place == series.open.size())
    series.open.push_back(std::make_unique<AllReduceRendezvous>(
        AllReduceRendezvous{channel, self.vector.size, element,
                            std::vector<AllReduceRendezvous::Member>(members.size()), members.size()}));
  AllReduceRendezvous& rendezvous = *series.open[place];
  TANDEM_CHECK(
      rendezvous.channel == channel && rendezvous.size == self.vector.size && rendezvous.element == element,
      "rank", rank, "all-reduce on channel", channel.number(), "bytes", self.vector.size.count(),
      "others on channel", rendezvous.channel.number(), "bytes", rendezvous.size.count());
  rendezvous.members[index] = self;
  if (--rendezvous.missing > 0) return nullptr;
  // Members start theirs in order, so that no later one is complete before.
  auto complete = std::move(series.open.front());
  series.open.pop_front();
  ++series.met;
  return complete;
}

}  // namespace tandem::sim
