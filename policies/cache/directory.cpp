#include "policies/cache/directory.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem::cache {

Directory::Directory(std::int64_t samples, int copies)
    : copies_(static_cast<std::size_t>(copies)), entries_(static_cast<std::size_t>(samples)) {
  TANDEM_CHECK(samples > 0 && copies >= 0, samples, copies);
}

Directory::Entry* Directory::find(SampleId id, int node) {
  auto& entries = entries_.at(index(id));
  const auto found = std::ranges::find(entries, node, &Entry::node);
  return found == entries.end() ? nullptr : &*found;
}

Directory::Located Directory::look_up(SampleId id, int node) {
  auto& entries = entries_.at(index(id));
  // Those behind the node come before those in front of it.
  const auto rank = [node](const Entry& entry) {
    return (entry.is_there ? 0 : 2) + (entry.node < node ? 1 : 0);
  };
  const Entry* best = nullptr;
  for (const Entry& entry : entries)
    if (entry.node != node && (best == nullptr || rank(entry) < rank(*best))) best = &entry;
  Located located{.holder = best == nullptr ? -1 : best->node};
  if (Entry* own = find(id, node)) {
    own->is_there = false;
    located.may_keep = true;
  } else if (copies_ == 0 || entries.size() < copies_) {
    entries.insert(std::ranges::upper_bound(entries, node, {}, &Entry::node), Entry{.node = node});
    located.may_keep = true;
  }
  return located;
}

void Directory::publish(SampleId id, int node) {
  Entry* own = find(id, node);
  if (own == nullptr) {
    // It was taken for one that had left.
    auto& entries = entries_.at(index(id));
    own = &*entries.insert(std::ranges::upper_bound(entries, node, {}, &Entry::node), Entry{.node = node});
  }
  own->is_there = true;
  own->since = ++moment_;
}

void Directory::withdraw(SampleId id, int node) {
  std::erase_if(entries_.at(index(id)), [node](const Entry& entry) { return entry.node == node; });
}

void Directory::remove(int node) {
  for (auto& entries : entries_)
    std::erase_if(entries, [node](const Entry& entry) { return entry.node == node; });
}

bool Directory::repair(SampleId id, int holder, std::int64_t moment) {
  const Entry* entry = find(id, holder);
  if (entry == nullptr || !entry->is_there || entry->since > moment) return false;
  withdraw(id, holder);
  return true;
}

}  // namespace tandem::cache
