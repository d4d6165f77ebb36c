// One read of samples, and the places of samples that no tier of a node holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "policies/vocabulary/check.hpp"

namespace tandem {

/// Which of the stores has the sample: neighbours in the data set are on different ones.
inline std::size_t store_of(SampleId id, std::size_t stores) { return static_cast<std::size_t>(id) % stores; }

/// One read of some samples from one place, or one write of samples into the tier of a disk.
struct SampleRead {
  /// instead_of_tier: samples that a tier should have, and has not. new_package: the samples are read; then
  /// to_package writes them in one piece. A sample of a package is also at its own place, where real reads
  /// find it.
  enum class What : std::uint8_t { samples, instead_of_tier, from_tier, to_tier, new_package, to_package };
  std::vector<SampleId> ids;
  Bytes size{0};
  /// Where each sample goes; empty when math is modelled. The memory must stay until the read has ended.
  std::vector<std::span<std::byte>> targets = {};
  What what = What::samples;
  cache::Why why = cache::Why::demand;
  bool is_awaited = false;  ///< a batch waits for one of its samples, though it was decided in advance
  bool is_package = false;  ///< one request to the disk
  /// The last `others` of `ids` come with a package: the node has them, or reads them in another way.
  std::size_t others = 0;
  std::vector<std::vector<std::byte>> records = {};  ///< to write; empty when math is modelled
  int job = 0;                                       ///< for which it is made, among those of the node
  std::int64_t epoch = 0;                            ///< of the job, in which the read was decided
  cache::Place from = cache::store();                ///< of What::samples
  std::int64_t moment = 0;  ///< of the directory's answer, if that has named another node as the place
  /// After the read: the ids that another node does not have. They are not in `ids` any more.
  std::vector<SampleId> not_here = {};
  /// For each sample, not 0 once it is known that it could not be read or written. Empty when math is
  /// modelled.
  std::vector<std::uint8_t> failed = {};
  std::size_t reader = 0;  ///< of a store: which of its cache nodes asks for it
  Seconds started{};
  Seconds duration{};  ///< when it has ended

  bool has_failed(std::size_t position) const { return !failed.empty() && failed[position] != 0; }
};

/// The places from which a cache node reads, by number: the stores, or its own disk if that has the samples;
/// then the other cache nodes that are asked, in their order; then the disk of a tier, if it has no samples
/// of the data set.
struct ReadPlaces {
  std::size_t stores = 0;  ///< that have the samples; 0: the disk of the node has them
  std::size_t node = 0;    ///< the index of this one among the cache nodes
  std::size_t peers = 0;   ///< other cache nodes that are asked

  /// Number of places that have samples of the data set.
  std::size_t stores_and_peers() const { return first_peer() + peers; }
  std::size_t first_peer() const { return std::max<std::size_t>(1, stores); }
  bool is_peer(std::size_t place) const { return place >= first_peer() && place < stores_and_peers(); }
  /// The place of the node's disk.
  std::size_t disk() const { return stores == 0 ? 0 : stores_and_peers(); }
  std::size_t peer_of(std::size_t other_node) const {
    TANDEM_CHECK(other_node != node && peers > 0, "node", node, "asks node", other_node);
    return other_node < node ? other_node : other_node - 1;
  }
  std::size_t number_of(const cache::Place& place, SampleId id) const {
    return place.where == cache::Where::peer ? first_peer() + peer_of(static_cast<std::size_t>(place.number))
                                             : store_of(id, first_peer());
  }
};

}  // namespace tandem
