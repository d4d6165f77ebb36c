// Samples that another cache node has in its tiers. It reads and keeps nothing for others, so a read may
// bring only some of the samples, or none.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/sample_reads.hpp"

namespace tandem {

/// A read becomes parts of few bytes, each of which is requested, and ends, as a read of its own. Of each
/// peer few are requested at the same time: the others wait here, where those on demand overtake those that
/// nobody waits for. What one peer has not answered keeps no other one waiting.
class PeerSource : public SampleReads {
 public:
  /// Of a part with several samples.
  static constexpr Bytes most_of_part{256 << 10};
  /// The next part is requested while less than this is. More than a link of 100 Gbit/s passes in a round
  /// trip within a cluster, and a peer reads the next part from its disk while it sends one.
  static constexpr Bytes window{512 << 10};
  /// The arguments must outlive it.
  PeerSource(Context& context, Rank peer, const cache::Manifest& manifest)
      : context_(context), peer_(peer), manifest_(manifest) {}
  Rank rank() const { return peer_; }
  void add(SampleRead read) override;
  std::size_t reads_of(std::span<const SampleId> ids) const override { return ends_of_parts(ids).size(); }
  /// A batch waits for the sample: a part with it that is not requested overtakes others.
  void hurry(SampleId id);
  void put_next(Pending& wait) override;
  void hear(const Note& note) override { found_ = protocol::unpack<protocol::Found>(note); }
  std::optional<SampleRead> finish() override;
  bool is_idle() const { return requests_.empty() && on_demand_.empty() && ahead_.empty(); }
  /// Tells the other node that no read follows. It ends only when all others have told it. Pre: is_idle().
  void say_end();
  void close() override;

 private:
  struct Request {
    SampleRead read;
    std::vector<std::byte> records = {};  ///< where the samples go to different places
    std::byte* into = nullptr;            ///< null when math is modelled
    Pending sent = {};
    Pending data = {};
  };
  /// Behind the last sample of each.
  std::vector<std::size_t> ends_of_parts(std::span<const SampleId> ids) const;
  SampleRead take_part(SampleRead& read, std::size_t begin, std::size_t end) const;
  void request_next();
  void request(SampleRead part);
  void spread(const Request& request) const;

  Context& context_;
  Rank peer_;
  const cache::Manifest& manifest_;
  std::deque<SampleRead> on_demand_, ahead_;  ///< parts that are not requested yet
  std::deque<Request> requests_;
  Bytes requested_{0};     ///< by these
  protocol::Found found_;  ///< of the oldest request
  Pending end_;
};

}  // namespace tandem
