// How reads of samples that another cache node has are divided into parts, each of which is requested and
// ends as a read of its own; and which part is requested next. Pure: PeerSource has the messages.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache/sample_read.hpp"

namespace tandem {

/// Bytes of a part that has several samples.
inline constexpr Bytes most_of_peer_part{256 << 10};

/// The index after the last sample of each part.
std::vector<std::size_t> ends_of_peer_parts(const cache::Manifest& manifest, std::span<const SampleId> ids);

/// Few parts are requested at the same time. The others wait here; those on demand overtake those that no
/// batch waits for.
class PeerParts {
 public:
  /// The next part is requested while fewer bytes are requested. A link of 100 Gbit/s passes fewer in a
  /// round trip within a cluster, and a peer reads the next part from its disk while it sends one.
  static constexpr Bytes window{512 << 10};
  /// `manifest` must outlive it.
  explicit PeerParts(const cache::Manifest& manifest) : manifest_(manifest) {}

  void add(SampleRead read);
  /// A batch waits for the sample: a part with it that is not requested overtakes others.
  void hurry(SampleId id);
  /// The part to request now, which counts as requested until its end; none: enough bytes are requested, or
  /// no part waits.
  std::optional<SampleRead> next();
  /// The answer to a requested part has come. Returns the part with the samples that were found.
  SampleRead end(SampleRead part, const protocol::Found& found);
  /// The peer is not there: parts that wait end without their samples.
  void refuse();
  std::optional<SampleRead> take_refused();
  bool is_empty() const { return on_demand_.empty() && ahead_.empty() && refused_.empty(); }

 private:
  SampleRead take_part(SampleRead& read, std::size_t begin, std::size_t end) const;

  const cache::Manifest& manifest_;
  std::deque<SampleRead> on_demand_, ahead_;  ///< not requested yet
  std::deque<SampleRead> refused_;            ///< for a peer that is not there
  Bytes requested_{0};                        ///< by parts that have not ended
};

}  // namespace tandem
