// In which rows of caches.csv the samples of a batch count, by the place that they come from.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/data/cache_ledger.hpp"

namespace tandem {

inline const std::string from_store = "store";
inline const std::string from_peer = "peer";
inline const std::string substituted = "substituted";
inline const std::string from_disk = "tier1";

inline std::string row_of(const cache::Place& place) {
  switch (place.where) {
    case cache::Where::tier:
      return "tier" + std::to_string(place.number);
    case cache::Where::peer:
      return from_peer;
    case cache::Where::store:
      break;
  }
  return from_store;
}

inline std::string row_of(const cache::Serve& serve) {
  return serve.given != serve.asked && !serve.swapped ? substituted : row_of(serve.from);
}

/// The samples of one batch that count in a row.
struct Delivered {
  std::string row;
  SampleCount count = {};
};

/// In the order of the first sample of each row.
inline std::vector<Delivered> count_delivered(std::span<const cache::Serve> serves,
                                              const cache::Manifest& manifest) {
  std::vector<Delivered> rows;
  for (const cache::Serve& serve : serves) {
    const std::string row = row_of(serve);
    const auto found = std::ranges::find(rows, row, &Delivered::row);
    Delivered& own = found != rows.end() ? *found : rows.emplace_back(Delivered{.row = row});
    own.count.add(manifest.size_of(serve.given));
  }
  return rows;
}

}  // namespace tandem
